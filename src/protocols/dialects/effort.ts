import type { Effort } from "../canonical/request/request.ts";

/** A word for how much a model reasons, with the one for not at all. */
export type EffortWord = Effort | "none";

/** All efforts, from little to much. */
export const ALL_EFFORTS: readonly Effort[] = [
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** What comes closest to an effort that a model does not know, the closest first. */
const SUBSTITUTES: Readonly<Record<Effort, readonly Effort[]>> = {
  minimal: ["low", "medium", "high"],
  low: ["minimal", "medium", "high"],
  medium: ["high", "low"],
  high: ["medium", "max", "low"],
  xhigh: ["high", "max", "medium"],
  max: ["xhigh", "high", "medium"],
};

/** The effort of `known` that comes closest to `effort`; `undefined` where a model knows none. */
export function closestEffort(
  effort: Effort,
  known: readonly EffortWord[],
): Effort | undefined {
  return [effort, ...SUBSTITUTES[effort]].find((word) => known.includes(word));
}
