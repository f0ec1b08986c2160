const BITS_PER_WORD = 32;

/** A stack of booleans, one bit each, so that nesting of any depth costs little and no recursion. */
export class BitStack {
  #words = new Int32Array(2);
  #size = 0;

  /** How many booleans are on the stack. */
  get size(): number {
    return this.#size;
  }

  /** The boolean on top; `false` when there is none. */
  get top(): boolean {
    const index = this.#size - 1;
    const word = this.#words[index >> 5] ?? 0;
    return (word & (1 << index)) !== 0;
  }

  /** Puts `bit` on top. */
  push(bit: boolean): void {
    const index = this.#size++;
    if (index === this.#words.length * BITS_PER_WORD) this.#grow();
    const word = this.#words[index >> 5] ?? 0;
    const mask = 1 << index;
    this.#words[index >> 5] = bit ? word | mask : word & ~mask;
  }

  /** Takes the top away; there must be one. */
  pop(): void {
    this.#size--;
  }

  #grow(): void {
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
  }
}
