/** The duration of a part on two processors without other load, in seconds. */
export interface Duration {
  /** The part that is independent of the effort. */
  readonly fixed: number;
  /** The additional time of the full counts and times. */
  readonly scaled: number;
}

/**
 * The share of the full counts that fits into a run, and the time that is left for mixed traffic.
 */
export interface Budget {
  readonly effort: number;
  readonly trafficSeconds: number;
}

/** A smaller share of the full counts is inconclusive. */
const MIN_EFFORT = 0.1;

/** A smaller share cannot distinguish a leak from a heap that still grows to its size. */
const MIN_MEMORY_EFFORT = 0.5;

/** The share of the time for mixed traffic when the other parts must be shortened. */
const TRAFFIC_SHARE = 0.25;

const MIN_TRAFFIC_SECONDS = 10;

/**
 * Divides the time of a run among its parts.
 *
 * @param seconds The time of the whole run.
 * @param durations The durations of all parts but mixed traffic.
 */
export function divide(
  seconds: number,
  durations: readonly Duration[],
): Budget {
  const sum = (key: keyof Duration) =>
    durations.reduce((total, one) => total + one[key], 0);
  const left = seconds * (1 - TRAFFIC_SHARE) - sum("fixed");
  const scaled = sum("scaled");
  const share = scaled === 0 ? 1 : left / scaled;
  const effort = Math.min(1, Math.max(MIN_EFFORT, share));
  const rest = seconds - sum("fixed") - effort * scaled;
  return { effort, trafficSeconds: Math.max(MIN_TRAFFIC_SECONDS, rest) };
}

/**
 * Returns the reason why a short run cannot judge growth and small counts; `undefined` when it can.
 */
export function shortnessOf(
  { effort }: Pick<Budget, "effort">,
): string | undefined {
  return effort < MIN_MEMORY_EFFORT
    ? "too short to distinguish a leak from a heap that grows to its size"
    : undefined;
}

/** Returns the duration of a part at an effort, in seconds. */
export function secondsOf(
  { fixed, scaled }: Duration,
  { effort }: Budget,
): number {
  return fixed + scaled * effort;
}
