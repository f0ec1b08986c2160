/** How long a part takes with nothing else on two processors, in seconds. */
export interface Duration {
  /** Whatever the effort is. */
  readonly fixed: number;
  /** What the full counts and times take beside. */
  readonly scaled: number;
}

/** What share of the full counts a run can take on, and what that leaves for mixed traffic. */
export interface Budget {
  readonly effort: number;
  readonly trafficSeconds: number;
}

/** Less than this of the full counts shows nothing. */
const MIN_EFFORT = 0.1;

/** Less than this of them does not tell a leak from a heap that still takes its size. */
const MIN_MEMORY_EFFORT = 0.5;

/** The share of the time that mixed traffic has where everything else must be cut short. */
const TRAFFIC_SHARE = 0.25;

const MIN_TRAFFIC_SECONDS = 10;

/**
 * Divides the time of a run among its parts.
 *
 * @param seconds How long the whole run may take.
 * @param durations Of the parts but mixed traffic.
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

/** Why growth and the cost of each of few say nothing at an effort; `undefined` where they do. */
export function shortnessOf(
  { effort }: Pick<Budget, "effort">,
): string | undefined {
  return effort < MIN_MEMORY_EFFORT
    ? "too short to tell it from a heap that takes its size"
    : undefined;
}

/** How long a part takes at some effort, in seconds. */
export function secondsOf(
  { fixed, scaled }: Duration,
  { effort }: Budget,
): number {
  return fixed + scaled * effort;
}
