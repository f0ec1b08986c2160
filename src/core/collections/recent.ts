import type { Clock } from "../time/clock.ts";
import { TtlCache } from "./ttl_cache.ts";

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
  readonly #cache: TtlCache<string, Value>;

  constructor(options: RecentOptions) {
    this.#options = options;
    this.#cache = new TtlCache(options.clock);
  }

  /** How many are held, those that nobody asked for since they expired included. */
  get size(): number {
    return this.#cache.size;
  }

  get(key: string): Value | undefined {
    return this.#cache.get(key);
  }

  set(key: string, value: Value): void {
    const { ttlMs, maxSize } = this.#options;
    this.#cache.set(key, value, { ttlMs });
    if (this.#cache.size > maxSize) this.#cache.dropOldest();
  }
}
