import type { Clock } from "../../core/time/timers.ts";

/** The half-life of a use, in milliseconds: some turns of an agent. */
const HALF_LIFE_MS = 120_000;

/** The use of a running request until the first one has ended, in milliseconds. */
const FIRST_GUESS_MS = 5_000;

/** The weight of the newest request in the average. */
const NEWEST_SHARE = 0.1;

/** The number of callers that are remembered. */
const MAX_CALLERS = 10_000;

/** The use of one caller. */
interface Use {
  /** The time of its ended requests, as of `atMs`. */
  usedMs: number;
  atMs: number;
  running: number;
  /** The sum of the starts of its running requests. */
  startsMs: number;
}

/**
 * The time that each caller's requests have recently occupied providers, which decides whose turn is next. It fades
 * within minutes. Each running request counts at least as long as an average one, so that many requests that begin
 * together do not all count as nothing.
 */
export class RecentUse {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #byCaller = new Map<string, Use>();
  #averageMs = FIRST_GUESS_MS;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Returns the recent use of a caller, in milliseconds. */
  of(caller: string): number {
    const use = this.#byCaller.get(caller);
    if (use === undefined) return 0;
    const nowMs = this.#clock.elapsedMs();
    const runningMs = use.running * (nowMs + this.#averageMs) - use.startsMs;
    return faded(use, nowMs) + runningMs;
  }

  /**
   * Counts a request of a caller from now on.
   *
   * @returns A function to call once, at its end.
   */
  begin(caller: string): () => void {
    const startMs = this.#clock.elapsedMs();
    const use = this.#byCaller.get(caller) ??
      { usedMs: 0, atMs: startMs, running: 0, startsMs: 0 };
    use.running += 1;
    use.startsMs += startMs;
    this.#byCaller.delete(caller);
    this.#byCaller.set(caller, use);
    if (this.#byCaller.size > MAX_CALLERS) this.#forgetOne();
    return () => {
      const nowMs = this.#clock.elapsedMs();
      const tookMs = nowMs - startMs;
      use.usedMs = faded(use, nowMs) + tookMs;
      use.atMs = nowMs;
      use.running -= 1;
      use.startsMs -= startMs;
      this.#averageMs += NEWEST_SHARE * (tookMs - this.#averageMs);
    };
  }

  /** Forgets the caller that began a request the longest time ago, unless one still runs. */
  #forgetOne(): void {
    for (const [caller, { running }] of this.#byCaller) {
      if (running === 0) return void this.#byCaller.delete(caller);
    }
  }
}

function faded({ usedMs, atMs }: Use, nowMs: number): number {
  return usedMs * 2 ** ((atMs - nowMs) / HALF_LIFE_MS);
}
