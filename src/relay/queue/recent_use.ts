import { Recent } from "../../core/collections.ts";
import type { Clock } from "../../core/time/timers.ts";

/** The half-life of a use, in milliseconds: some turns of an agent. */
const HALF_LIFE_MS = 120_000;

/** The time after which a use counts as none, and the number of callers that are remembered. */
const LIFE_MS = 20 * HALF_LIFE_MS;
const MAX_CALLERS = 10_000;

/** The use of one caller as of a time. */
interface Use {
  readonly usedMs: number;
  readonly atMs: number;
}

/** The time that each caller's requests have occupied providers, which decides whose turn is next. It fades away. */
export class RecentUse {
  readonly #clock: Clock;
  readonly #byCaller: Recent<Use>;

  constructor(clock: Clock) {
    this.#clock = clock;
    const options = { ttlMs: LIFE_MS, maxSize: MAX_CALLERS };
    this.#byCaller = new Recent({ clock, ...options });
  }

  /** Returns the recent use of a caller, in milliseconds. */
  of(caller: string): number {
    const use = this.#byCaller.get(caller);
    if (use === undefined) return 0;
    const agoMs = this.#clock.elapsedMs() - use.atMs;
    return Math.max(0, use.usedMs * 2 ** (-agoMs / HALF_LIFE_MS));
  }

  /** Adds to the use of a caller. A negative time corrects one that was too long. */
  add(caller: string, ms: number): void {
    const usedMs = this.of(caller) + ms;
    this.#byCaller.set(caller, { usedMs, atMs: this.#clock.elapsedMs() });
  }
}
