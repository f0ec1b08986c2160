const BITS_PER_WORD = 32;
const INITIAL_WORDS = 32;

/** A stack of booleans of any depth, one bit each; it allocates nothing for the first 32. */
export class BitStack {
  /** The uppermost bits, the top lowest: 1 to 32 of them unless the stack is empty. */
  #upper = 0;
  /** All bits below `#upper`, in full words. */
  #lower: Int32Array | undefined;
  #size = 0;

  /** How many booleans are on the stack. */
  get size(): number {
    return this.#size;
  }

  /** The boolean on top; `false` when there is none. */
  get top(): boolean {
    return (this.#upper & 1) === 1;
  }

  /** Puts `bit` on top. */
  push(bit: boolean): void {
    if (this.#isWordBorder()) this.#spill();
    this.#upper = this.#upper << 1 | (bit ? 1 : 0);
    this.#size++;
  }

  /** Takes the top away; there must be one. */
  pop(): void {
    this.#size--;
    this.#upper >>>= 1;
    if (this.#isWordBorder()) {
      this.#upper = this.#lower?.[this.#size / BITS_PER_WORD - 1] ?? 0;
    }
  }

  #isWordBorder(): boolean {
    return this.#size % BITS_PER_WORD === 0 && this.#size > 0;
  }

  #spill(): void {
    const index = this.#size / BITS_PER_WORD - 1;
    const old = this.#lower;
    if (old === undefined || index === old.length) {
      this.#lower = new Int32Array(old ? old.length * 2 : INITIAL_WORDS);
      if (old) this.#lower.set(old);
    }
    if (this.#lower) this.#lower[index] = this.#upper;
  }
}
