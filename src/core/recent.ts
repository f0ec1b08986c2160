import type { Clock } from "./clock.ts";

/** Bounds of a {@linkcode Recent}. */
export interface RecentOptions {
  readonly clock: Clock;
  /** How long a value is kept after it was set, in milliseconds. */
  readonly ttlMs: number;
  /** How many are kept; what was set longest ago goes first. */
  readonly maxSize: number;
}

/** Values that were set recently. There is no timer: what is too old goes when it is asked for or pushed out. */
export class Recent<Value> {
  readonly #options: RecentOptions;
  readonly #entries = new Map<string, { value: Value; expiresMs: number }>();

  constructor(options: RecentOptions) {
    this.#options = options;
  }

  /** How many are held, those that nobody asked for since they expired included. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#options.clock.elapsedMs() < entry.expiresMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value): void {
    const { clock, ttlMs, maxSize } = this.#options;
    // Deleted first, for a map keeps a key where it was first set.
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresMs: clock.elapsedMs() + ttlMs });
    if (this.#entries.size <= maxSize) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
