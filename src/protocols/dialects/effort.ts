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

/** How much a model of a provider with an effort can be asked to reason. */
export interface EffortRules {
  /** What the provider calls each effort that the model takes, from little to much; empty where it takes none. */
  readonly words: Readonly<Partial<Record<EffortWord, string>>>;
}

type EffortModels = readonly ModelRow<EffortRules>[];

const THREE_EFFORTS = { low: "low", medium: "medium", high: "high" };

const GROQ_PAGE = "https://console.groq.com/docs/reasoning";

/** The models of Groq. */
export const GROQ_MODELS: EffortModels = [
  {
    models: /^gpt-oss/,
    examples: ["openai/gpt-oss-120b", "gpt-oss-safeguard-20b"],
    sources: [GROQ_PAGE],
    rules: { words: THREE_EFFORTS },
  },
  {
    // "`reasoning_effort` must be one of `none` or `default`"
    models: /^qwen3(?:-|\.[0-6])/,
    examples: ["qwen/qwen3-32b", "qwen3.6-27b"],
    sources: [GROQ_PAGE],
    rules: { words: { none: "none", high: "default" } },
  },
  {
    models: /^qwen/,
    examples: ["qwen/qwen3.8-27b"],
    sources: ["https://console.groq.com/docs/api-reference"],
    rules: { words: { none: "none", ...THREE_EFFORTS } },
  },
  {
    models: /^/,
    examples: ["llama-3.3-70b-versatile", "moonshotai/kimi-k2-instruct-0905"],
    sources: [GROQ_PAGE],
    rules: { words: {} },
  },
];

const CEREBRAS_PAGE =
  "https://inference-docs.cerebras.ai/capabilities/reasoning";

/** The models of Cerebras. */
export const CEREBRAS_MODELS: EffortModels = [
  {
    models: /^gpt-oss/,
    examples: ["gpt-oss-120b"],
    sources: [CEREBRAS_PAGE],
    rules: { words: THREE_EFFORTS },
  },
  {
    models: /^/,
    examples: ["zai-glm-4.7", "qwen-3-235b-a22b-instruct-2507"],
    sources: [CEREBRAS_PAGE],
    rules: { words: {} },
  },
];

const MISTRAL_PAGE = "https://docs.mistral.ai/capabilities/reasoning/";

/** The models of Mistral. */
export const MISTRAL_MODELS: EffortModels = [
  {
    models: /^mistral-(?:small-(?:latest|2[6-9])|medium-(?:latest|3-5|2[6-9]))/,
    examples: ["mistral-small-latest", "mistral-medium-3-5"],
    sources: [MISTRAL_PAGE],
    rules: { words: { none: "none", high: "high" } },
  },
  {
    models: /^/,
    examples: ["mistral-large-latest", "magistral-medium-latest"],
    sources: [MISTRAL_PAGE],
    rules: { words: {} },
  },
];

/**
 * One row of a table of models. Tables are read from the top: the first row that matches a model's id counts, so
 * that special models stand above their generation, and the last row is for what nobody knows yet.
 */
export interface ModelRow<Rules> {
  /** The ids that the row is for, in lower case and without a vendor's prefix. */
  readonly models: RegExp;
  /** Ids that this row answers for, and no row above it. */
  readonly examples: readonly string[];
  /** Where the provider, or somebody who asked it, says so. */
  readonly sources: readonly string[];
  readonly rules: Rules;
}

/** The rules of the first row for `model`, whatever its case and vendor's prefix; `undefined` where none matches. */
export function rulesFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
): Rules | undefined {
  return rowFor(rows, model)?.rules;
}

/** The first row for `model`. */
export function rowFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
): ModelRow<Rules> | undefined {
  const id = bareId(model);
  return rows.find(({ models }) => models.test(id));
}

/** `openai/gpt-5` and `ft:gpt-5:team::1` are the models that their ids name. */
function bareId(model: string): string {
  const [bare = ""] = model.toLowerCase().split("/").slice(-1);
  return bare.replace(/^ft:/, "");
}
