/** The half-life of a use, in milliseconds: some turns of an agent. */
const HALF_LIFE_MS = 120_000;

/** The number of callers that are remembered. */
const MAX_CALLERS = 10_000;

/** The use of one caller as of a time. */
interface Use {
  usedMs: number;
  atMs: number;
}

/**
 * The time that each caller's requests have occupied providers, which decides whose turn is next. It fades away. The
 * functions take the time on a monotonic clock, since a read of it takes longer than they do.
 */
export class RecentUse {
  readonly #byCaller = new Map<string, Use>();

  /** Returns the recent use of a caller, in milliseconds. */
  of(caller: string, nowMs: number): number {
    const use = this.#byCaller.get(caller);
    return use === undefined ? 0 : faded(use, nowMs);
  }

  /** Adds to the use of a caller. A negative time corrects one that was too long. */
  add(caller: string, ms: number, nowMs: number): void {
    const use = this.#byCaller.get(caller) ?? { usedMs: 0, atMs: nowMs };
    use.usedMs = faded(use, nowMs) + ms;
    use.atMs = nowMs;
    setNewest(this.#byCaller, caller, use, MAX_CALLERS);
  }
}

function faded({ usedMs, atMs }: Use, nowMs: number): number {
  return Math.max(0, usedMs * 2 ** ((atMs - nowMs) / HALF_LIFE_MS));
}

/** Sets a value as the newest of a map, and drops the oldest one beyond a number. */
export function setNewest<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  most: number,
): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
