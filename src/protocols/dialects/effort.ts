import type { Effort } from "../canonical/request/request.ts";

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

export interface EffortRules {
  /** The provider's names of the efforts that the model accepts, from low to high; empty when it accepts none. */
  readonly words: Readonly<Partial<Record<EffortWord, string>>>;
}

/**
 * One row of a table of models. The first row that matches a model's id counts. Special models therefore precede their
 * generation, and the last row is for unknown models.
 */
export interface ModelRow<Rules> {
  /** The ids of the row, in lower case and without a vendor's prefix. */
  readonly models: RegExp;
  /** Ids that match this row and no row above it. */
  readonly examples: readonly string[];
  /** The provider's documentation, or reports of people who tested the model. */
  readonly sources: readonly string[];
  readonly rules: Rules;
}

/** Returns the rules of the first row for `model`, in any case and with any vendor's prefix; else `undefined`. */
export function rulesFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
): Rules | undefined {
  const id = bareId(model);
  return rows.find(({ models }) => models.test(id))?.rules;
}

/** Returns an id in lower case, without the prefixes in `openai/gpt-5`, `ft:gpt-5:team::1` and `us.openai.gpt-5`. */
function bareId(model: string): string {
  const [bare = ""] = model.toLowerCase().split("/").slice(-1);
  return bare.replace(/^(?:ft:|(?:[a-z]+\.)?openai\.)/, "");
}
