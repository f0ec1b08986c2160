/** The half-life of a use, in milliseconds. An agent makes a few turns in this time. */
const HALF_LIFE_MS = 120_000;

/** The number of callers that are remembered. */
const MAX_CALLERS = 10_000;

/** The use of one caller. */
interface Use {
  /** The use of ended requests at `atMs`, in milliseconds. */
  usedMs: number;
  atMs: number;
  /** The assumed use of the running requests, in milliseconds. */
  runningMs: number;
}

/**
 * The time for which each caller's requests have occupied providers. This time decides whose turn is next, and halves
 * every two minutes. `nowMs` is the time on a monotonic clock. The time is a parameter, because reading a clock takes
 * longer than the functions do.
 */
export class RecentUse {
  readonly #byCaller = new Map<string, Use>();

  /** Returns the recent use of a caller, in milliseconds. */
  of(caller: string, nowMs: number): number {
    const use = this.#byCaller.get(caller);
    return use === undefined ? 0 : faded(use, nowMs) + use.runningMs;
  }

  /**
   * Counts a request that begins, as if it had ended after `guessMs`. Without the guess, running requests would not
   * count.
   */
  begin(caller: string, guessMs: number): void {
    this.#useOf(caller).runningMs += guessMs;
  }

  /** Replaces the guess for a request by the time that it took. */
  end(caller: string, guessMs: number, tookMs: number, nowMs: number): void {
    const use = this.add(caller, tookMs, nowMs);
    use.runningMs = Math.max(0, use.runningMs - guessMs);
  }

  /** Adds to the use of a caller. A negative time corrects a guess that was too long. */
  add(caller: string, ms: number, nowMs: number): Use {
    const use = this.#useOf(caller);
    use.usedMs = Math.max(0, faded(use, nowMs) + ms);
    use.atMs = nowMs;
    return use;
  }

  #useOf(caller: string): Use {
    const use = this.#byCaller.get(caller) ??
      { usedMs: 0, atMs: 0, runningMs: 0 };
    setNewest(this.#byCaller, caller, use, MAX_CALLERS);
    return use;
  }
}

function faded({ usedMs, atMs }: Use, nowMs: number): number {
  return usedMs * 2 ** ((atMs - nowMs) / HALF_LIFE_MS);
}

/** Sets a value in a map. If the map then has more than `most` values, drops the value that was set longest ago. */
export function setNewest<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  most: number,
): void {
  // The order matters only when a value may soon be dropped.
  if (map.size > most / 2) map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
