import type { Effort } from "./request.ts";

/** An effort, or `none` for no reasoning. */
export type EffortWord = Effort | "none";

/** All efforts, from low to high. */
export const ALL_EFFORTS: readonly Effort[] = [
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** All effort words, from low to high. */
export const EFFORT_WORDS: readonly EffortWord[] = ["none", ...ALL_EFFORTS];

/** The substitutes for an effort that a model does not know, closest first. */
const SUBSTITUTES: Readonly<Record<Effort, readonly Effort[]>> = {
  minimal: ["low", "medium", "high"],
  low: ["minimal", "medium", "high"],
  medium: ["high", "low"],
  high: ["medium", "max", "low"],
  xhigh: ["high", "max", "medium"],
  max: ["xhigh", "high", "medium"],
};

/** Returns the effort in `known` that is closest to `effort`; `undefined` when a model knows none. */
export function closestEffort(
  effort: Effort,
  known: readonly EffortWord[],
): Effort | undefined {
  return [effort, ...SUBSTITUTES[effort]].find((word) => known.includes(word));
}
