import type { Clock } from "../time/clock.ts";

/**
 * Values that expire. There is no timer: a value past its time is dropped when it is next asked for, and
 * its owner bounds the size with {@linkcode TtlCache.retain} or {@linkcode TtlCache.dropOldest}.
 */
export class TtlCache<Key, Value> {
  readonly #entries = new Map<Key, { value: Value; expiresAtMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many values are held, the expired ones that nobody asked for included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of `key`; undefined when there is none or its time is over. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.elapsedMs() < entry.expiresAtMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** Holds `value` for `ttlMs` milliseconds from now. */
  set(key: Key, value: Value, { ttlMs }: { readonly ttlMs: number }): void {
    // Deleted first, for a map keeps a key where it was first set.
    this.#entries.delete(key);
    this.#entries.set(key, {
      value,
      expiresAtMs: this.#clock.elapsedMs() + ttlMs,
    });
  }

  /** Drops the value that was set longest ago. */
  dropOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Drops every value whose key is not among `keys`. */
  retain(keys: ReadonlySet<Key>): void {
    for (const key of this.#entries.keys()) {
      if (!keys.has(key)) this.#entries.delete(key);
    }
  }
}
