import { wordList } from "@gateway/base/collections";
import { oncePer } from "@gateway/base/memo";
import type { Protocol } from "@gateway/base/protocol";
import type { Target } from "../canonical/codec.ts";
import {
  type Ability,
  type AbilityRow,
  type ReasoningAbility,
  SAMPLING_SETTINGS,
} from "../canonical/request/ability.ts";
import { type EffortWord } from "../canonical/request/effort.ts";
import {
  bareId,
  commonEfforts,
  type ModelRow,
  rulesFor,
} from "./model_rows.ts";

/** What one generation of OpenAI's models accepts, in both OpenAI protocols. */
export interface OpenAiModelRules {
  /**
   * The efforts that the model accepts, from low to high, with `none` if reasoning can be turned off. Empty if the
   * model never reasons.
   */
  readonly efforts: readonly EffortWord[];
  /**
   * The effort that applies when a request sets no effort. The model accepts sampling and log probabilities only
   * without reasoning.
   */
  readonly defaultEffort: EffortWord;
  /** True when prompts accept cache marks and `prompt_cache_options`. */
  readonly cacheMarks: boolean;
  /** True when the model accepts `prompt_cache_retention`. Newer models have cache marks instead. */
  readonly cacheRetention: boolean;
  /** True when Chat Completions rejects function tools while the model reasons; absent: false. */
  readonly refusesChatTools?: boolean | undefined;
}

/** "When reasoning effort is not none, remove temperature, top_p, and top_logprobs", and tests of each model. */
const SAMPLING_SOURCE =
  "https://developers.openai.com/api/docs/guides/deployment-checklist";
const PROBED_SOURCE = "https://github.com/pydantic/pydantic-ai/pull/6414";

/**
 * Reports that OpenAI checks the schemas of tools in both protocols, even if the tools are not strict. OpenAI compiles
 * all patterns with Python's `re` ("is not a 'regex'"), and some with an engine without lookaround ("regex lookaround
 * is not supported"). OpenAI rejects a choice at the root of a schema, and a list without items ("array schema missing
 * items").
 */
export const SCHEMA_SOURCES: readonly string[] = [
  "https://github.com/BerriAI/litellm/pull/40485",
  "https://github.com/pleaseai/shunt/pull/488",
  "https://github.com/vercel/ai/pull/21037",
  "https://github.com/nicobailon/pi-interactive-shell/issues/69",
  "https://github.com/langchain-ai/langchainjs/issues/9804",
  "https://github.com/docker/mcp-gateway/pull/265",
];

const OLD_CACHE = { cacheMarks: false, cacheRetention: true } as const;
const NEW_CACHE = { cacheMarks: true, cacheRetention: false } as const;

/** The generations that always reason, with an effort of `medium` by default. */
const UP_TO_HIGH: OpenAiModelRules = {
  efforts: ["low", "medium", "high"],
  defaultEffort: "medium",
  ...OLD_CACHE,
};
const UP_TO_XHIGH: OpenAiModelRules = {
  ...UP_TO_HIGH,
  efforts: ["low", "medium", "high", "xhigh"],
};
const UP_TO_MAX: OpenAiModelRules = {
  efforts: ["low", "medium", "high", "xhigh", "max"],
  defaultEffort: "medium",
  refusesChatTools: true,
  ...NEW_CACHE,
};

/** The generations that reason only on request. */
const NONE_TO_HIGH: OpenAiModelRules = {
  efforts: ["none", "low", "medium", "high"],
  defaultEffort: "none",
  ...OLD_CACHE,
};
const NONE_TO_XHIGH: OpenAiModelRules = {
  ...NONE_TO_HIGH,
  efforts: ["none", "low", "medium", "high", "xhigh"],
};

/** The generations that can stop reasoning. While they reason, they refuse tools in Chat Completions. */
const NONE_TO_MAX: OpenAiModelRules = {
  efforts: ["none", "low", "medium", "high", "xhigh", "max"],
  defaultEffort: "medium",
  refusesChatTools: true,
  ...NEW_CACHE,
};

/** OpenAI's models. The id of a snapshot ends with its date. */
export const OPENAI_MODELS: readonly ModelRow<OpenAiModelRules>[] = [
  {
    models: /^(?:gpt-[34](?!\d)|chatgpt-4|gpt-5-chat|davinci|babbage)/,
    examples: ["gpt-4.1", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-5-chat"],
    sources: [PROBED_SOURCE],
    rules: { efforts: [], defaultEffort: "none", ...OLD_CACHE },
  },
  {
    models: /^(?:gpt-5\.\d-chat|chat$)/,
    examples: ["gpt-5.2-chat-latest", "chat-latest"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/anomalyco/models.dev/pull/2351",
    ],
    rules: { efforts: ["medium"], defaultEffort: "medium", ...OLD_CACHE },
  },
  {
    models: /^gpt-5\.(?:1-codex-max|[2-5]-codex)/,
    examples: wordList(`
      gpt-5.1-codex-max gpt-5.2-codex gpt-5.3-codex gpt-5.3-codex-spark
    `),
    sources: [
      PROBED_SOURCE,
      "https://github.com/vercel/ai/pull/11056",
      "https://github.com/OpenHands/software-agent-sdk/issues/1837",
      "https://github.com/anomalyco/models.dev/pull/2296",
    ],
    rules: UP_TO_XHIGH,
  },
  {
    models: /^(?:o[134](?!\d)|codex|computer-use|gpt-5(?:\.1)?-codex)/,
    examples: wordList(`
      o3 o4-mini codex-mini-latest gpt-5-codex gpt-5.1-codex gpt-5.1-codex-mini
    `),
    sources: [PROBED_SOURCE, "https://github.com/enricoros/big-AGI/issues/944"],
    rules: UP_TO_HIGH,
  },
  {
    models: /^gpt-5-pro/,
    examples: ["gpt-5-pro", "gpt-5-pro-2025-10-06"],
    sources: ["https://developers.openai.com/api/docs/models/gpt-5-pro"],
    rules: { efforts: ["high"], defaultEffort: "high", ...OLD_CACHE },
  },
  {
    models: /^gpt-5(?:-|$)/,
    examples: ["gpt-5", "gpt-5-mini", "gpt-5-nano-2025-08-07"],
    sources: ["https://developers.openai.com/api/docs/models/gpt-5"],
    rules: { ...UP_TO_HIGH, efforts: ["minimal", "low", "medium", "high"] },
  },
  {
    models: /^gpt-5\.[2-5]-pro/,
    examples: ["gpt-5.2-pro", "gpt-5.5-pro-2026-04-23"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/anomalyco/models.dev/pull/2296",
    ],
    rules: { ...UP_TO_HIGH, efforts: ["medium", "high", "xhigh"] },
  },
  {
    models: /^gpt-5\.1(?:-mini|-nano)?$/,
    examples: ["gpt-5.1", "gpt-5.1-2025-11-13"],
    sources: [
      PROBED_SOURCE,
      "https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort",
    ],
    rules: NONE_TO_HIGH,
  },
  {
    models: /^gpt-5\.[23](?:-mini|-nano)?$/,
    examples: ["gpt-5.2", "gpt-5.3"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/langchain-ai/langchain/issues/35423",
    ],
    rules: NONE_TO_XHIGH,
  },
  {
    models: /^gpt-5\.4(?:-mini|-nano)?$/,
    examples: ["gpt-5.4-mini", "gpt-5.4-2026-03-05"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/langchain-ai/langchain/issues/35423",
      "https://github.com/ItzCrazyKns/Vane/issues/1173",
    ],
    rules: { ...NONE_TO_XHIGH, refusesChatTools: true },
  },
  {
    models: /^gpt-5\.5$/,
    examples: ["gpt-5.5", "gpt-5.5-2026-04-23"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/BerriAI/litellm/pull/34210",
      "https://github.com/moltis-org/moltis/pull/1298",
    ],
    rules: {
      ...NONE_TO_XHIGH,
      defaultEffort: "medium",
      refusesChatTools: true,
    },
  },
  {
    models: /^gpt-5\.6(?:-(?:sol|terra|luna))?$/,
    examples: ["gpt-5.6", "gpt-5.6-sol"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/enricoros/big-AGI/issues/1159",
      "https://github.com/moltis-org/moltis/pull/1298",
    ],
    rules: { ...NONE_TO_MAX, cacheRetention: true },
  },
  {
    models: /^gpt-6(?:-(?:sol|luna)|\.1-terra)/,
    examples: ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"],
    sources: [
      SAMPLING_SOURCE,
      "https://microsoft.github.io/openaivec/model-migration/",
      "https://github.com/goruck/home-generative-agent/releases/tag/v3.46.0-beta.1",
    ],
    rules: NONE_TO_MAX,
  },
  {
    models: /^gpt-6(?:-astra|\.1-sol|\.2-)/,
    examples: ["gpt-6-astra", "gpt-6.1-sol", "gpt-6.2-sol", "gpt-6.2-astra"],
    sources: [
      SAMPLING_SOURCE,
      "https://github.com/goruck/home-generative-agent/releases/tag/v3.46.0-beta.1",
      // Version 6.2 has no `none`. This page says that it has no `max` either. That is not confirmed, so `max` is sent.
      "https://dev.to/routerbase_com/4-request-validation-gotchas-when-migrating-openai-clients-to-gpt-62-reasoning-models-1aoc",
    ],
    rules: UP_TO_MAX,
  },
];

/**
 * The rules of a model without a version, at a provider that has only OpenAI's models. The model is assumed to reason,
 * as all new models do.
 */
export const UNKNOWN_OPENAI_MODEL: OpenAiModelRules = {
  ...UP_TO_MAX,
  ...OLD_CACHE,
};

/** Matches the ids of OpenAI's models: ids with a version, and families that have only one generation. */
const OPENAI_IDS =
  /^(?:(?:chat)?gpt-\d|o\d(?!\d)|(?:chat|codex|computer-use|davinci|babbage)(?:-|$))/;

/** The services at which a name without a version, such as `gpt-latest`, means a model of OpenAI. */
const OPENAI_SERVICES = /^(?:openai|azure|codex)/;
const OPENAI_ALIAS = /^gpt(?:$|-(?!oss))/;

type ModelAt = Pick<Target, "service" | "model">;

/**
 * Returns the bare id of a model. The name of an Azure deployment may contain the id of the model, as in
 * `prod-gpt-5.5`, `gpt4o` or `gpt-41`.
 */
function idOf({ service, model }: ModelAt): string {
  const id = bareId(model);
  if (!service.startsWith("azure")) return id;
  return id.replace(/^.*?(?<![a-z\d])(?=(?:gpt-?|o)\d)/, "")
    .replace(/^gpt-?(?=\d)/, "gpt-").replace(/^(gpt-\d)(?=[1-9](?!\d))/, "$1.");
}

/** Returns the rules of a model if its id is that of an OpenAI model. Otherwise returns `undefined`. */
export const openAiModelRules: (
  target: ModelAt,
) => OpenAiModelRules | undefined = oncePer((target) => {
  const id = idOf(target);
  const isAlias = OPENAI_SERVICES.test(target.service) && OPENAI_ALIAS.test(id);
  if (!isAlias && !OPENAI_IDS.test(id)) return undefined;
  return rulesFor(OPENAI_MODELS, id, strictest);
});

/** "This model is only supported in v1/responses": https://github.com/aaif-goose/goose/issues/2564 */
const RESPONSES_ONLY = /^(?:codex-|gpt-\d+(?:\.\d+)?-(?:codex|pro)|o\d-pro)/;

const hasResponsesOnly = oncePer((target: ModelAt) =>
  RESPONSES_ONLY.test(idOf(target))
);

/**
 * Returns the protocol that translated requests to a model should use, if the connection has an endpoint for this
 * protocol. Returns `undefined` if the protocol of the connection's family is as good.
 */
export function endpointFor(target: ModelAt): Protocol | undefined {
  const isBetter = hasResponsesOnly(target) ||
    openAiModelRules(target)?.refusesChatTools === true;
  return isBetter ? "responses" : undefined;
}

/**
 * Returns true when Chat Completions of OpenAI and Azure refuse a request for a model. They refuse all requests for
 * some models. For others, they refuse requests with tools while the model reasons. If `effort` is missing, the model's
 * default effort counts.
 */
export function refusesChat(
  target: ModelAt,
  { hasTools, effort }: { hasTools: boolean; effort?: string | undefined },
): boolean {
  if (!/^(?:openai|azure)-chat$/.test(target.service)) return false;
  const rules = openAiModelRules(target);
  return hasResponsesOnly(target) ||
    hasTools && rules?.refusesChatTools === true &&
      (effort ?? rules.defaultEffort) !== "none";
}

function strictest(rows: readonly OpenAiModelRules[]): OpenAiModelRules {
  const efforts = rows.map((row) => row.efforts);
  const common = commonEfforts(efforts);
  return {
    // Only variants such as `pro` lack `low`. If a variant with another name lacks it, a refusal teaches the lowest
    // effort.
    efforts: common.length > 0
      ? common
      : commonEfforts(efforts.filter((words) => words.includes("low"))),
    defaultEffort: "medium",
    cacheMarks: rows.every(({ cacheMarks }) => cacheMarks),
    cacheRetention: rows.every(({ cacheRetention }) => cacheRetention),
    refusesChatTools: rows.some((row) => row.refusesChatTools),
  };
}

/** Returns true when a model takes `parallel_tool_calls`: https://github.com/tensorzero/tensorzero/issues/2805 */
export const takesParallel = (target: ModelAt): boolean =>
  !/^o\d(?!\d)/.test(idOf(target));

/** Returns the reasoning settings of an OpenAI model in `protocol`, one of the two OpenAI protocols. */
function openAiAbility(
  { efforts, defaultEffort, refusesChatTools }: OpenAiModelRules,
  protocol: "chat" | "responses",
): ReasoningAbility {
  // "accepts `max` only on the Responses API": https://github.com/BerriAI/litellm-docs/pull/1173. The supported values
  // in Chat Completions: https://github.com/mnfst/modelparams.dev/pull/236
  const isChat = protocol === "chat";
  const isUnknown = efforts.length === 0 && defaultEffort !== "none";
  return {
    byDefault: isUnknown ? undefined : defaultEffort !== "none",
    modes: [],
    efforts: isChat ? efforts.filter((word) => word !== "max") : efforts,
    least: efforts[0],
    usual: isUnknown || defaultEffort === "none" ? undefined : defaultEffort,
    bars: isChat && refusesChatTools ? ["tools"] : [],
  };
}

/** Returns the row of an OpenAI model for an ability in one of the two OpenAI protocols. */
export function openAiRow(
  rules: OpenAiModelRules,
  { protocol }: Pick<Ability, "protocol">,
): AbilityRow {
  return {
    reasoning: openAiAbility(rules, protocol === "chat" ? "chat" : "responses"),
    sampling: {
      free: "without_reasoning",
      fixed: [...SAMPLING_SETTINGS, "logprobs"],
    },
    // The models that reason reject all stop strings.
    ...(rules.efforts.length > 0 ? { limits: { mostStops: 0 } } : {}),
  };
}

/**
 * Returns the row for the cache settings of the OpenAI protocols. Even a provider that has these settings has them only
 * for some OpenAI models.
 *
 * @param common The ability that the provider's models share.
 * @param rules The rules of an OpenAI model; `undefined` for other models.
 */
export function openAiCacheRow(
  { cacheMarks, settings }: Ability,
  rules: OpenAiModelRules | undefined,
): AbilityRow {
  const hasMarks = rules?.cacheMarks === true;
  return {
    cacheMarks: cacheMarks === "content" && !hasMarks ? "none" : cacheMarks,
    settings: {
      cacheOptions: settings.cacheOptions && hasMarks,
      cacheRetention: settings.cacheRetention &&
        rules?.cacheRetention === true,
    },
  };
}
