import { isJsonObject, type JsonObject } from "@gateway/base/json";
import { oncePer } from "@gateway/base/memo";
import type { CacheMark } from "../canonical/content/block.ts";
import type { RequestContext, Target } from "../canonical/codec.ts";
import type { Ability } from "../canonical/request/ability.ts";
import { CHAT_PROVIDERS } from "../dialects/chat_providers.ts";
import {
  type CacheSpelling,
  type ChatRules,
  COMPATIBLE_CHAT,
  TEMPLATE_MODELS,
} from "../dialects/chat_rules.ts";
import { parseClaudeModel } from "../dialects/claude_models.ts";
import { ALL_EFFORTS } from "../canonical/request/effort.ts";
import type { SamplingAbility } from "../canonical/request/ability.ts";
import { SAMPLING_SETTINGS } from "../canonical/request/fit_settings.ts";
import type { ReasoningAbility } from "../canonical/request/ability.ts";
import type { Effort } from "../canonical/request/request.ts";
import {
  effortAbility,
  openAiAbility,
  routerAbility,
  switchAbility,
} from "../dialects/reasoning_abilities.ts";
import {
  bareId,
  type EffortRules,
  effortRules,
  rulesFor,
  strictestEffort,
} from "../dialects/effort.ts";
import {
  type OpenAiModelRules,
  openAiModelRules,
  takesParallel,
} from "../dialects/openai_models.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";
import {
  mandatoryEfforts,
  openRules,
  strictestThinking,
  type ThinkingRules,
} from "../dialects/thinking_models.ts";

export interface ChatDialect extends ChatRules {
  /** Set for a model whose thinking can be switched on or off. */
  readonly thinking: ThinkingRules | undefined;
  /** The requests that the model takes. */
  readonly ability: Ability;
  /** The known efforts of the model, with the provider's names. */
  readonly effort: EffortRules | undefined;
  /** True when assistant messages with tool calls must hold their reasoning while the model thinks. */
  readonly reasoningOfCalls: boolean;
  /** True for a Claude model at a provider that passes the tools on to Claude. */
  readonly isClaude: boolean;
}

/** Returns the dialect of a target, or the most compatible one for an unknown provider. */
export const dialectOf: (
  target: Pick<Target, "service" | "model">,
) => ChatDialect = oncePer(({ service, model }) => {
  const provider = CHAT_PROVIDERS.find(({ services }) =>
    services.includes(service)
  );
  const openAiModel = openAiModelRules({ service, model });
  const isOpenAi = openAiModel !== undefined;
  const rules: ChatRules = {
    ...(isOpenAi ? undefined : provider?.otherModels) ?? provider?.rules ??
      COMPATIBLE_CHAT,
    ...rulesFor(provider?.models ?? [], model),
  };
  const thinking = rulesFor(rules.models, model, strictestThinking);
  const open = service === "gateway" ? undefined : openRules(model);
  const openAi = rules.fitsModel ? undefined : openAiModel;
  const isUnmarked = rules.cache === "prompt_cache_breakpoint" &&
    openAi?.cacheMarks !== true;
  const effort = rulesFor(rules.effortModels, model, strictestEffort) ??
    (open?.onWord === undefined && open?.efforts[0] &&
        rules.reasoning === "effort"
      ? effortRules(open.efforts)
      : undefined);
  const known = { thinking, openAi, effort };
  return {
    ...rules,
    ...(service === "gateway" ? {} : rulesFor(TEMPLATE_MODELS, model)),
    thinking,
    ability: abilityOf({ service, model }, rules, known),
    effort,
    cache: isUnmarked ? undefined : rules.cache,
    signatures: UNSIGNED.test(bareId(model)) ? undefined : rules.signatures,
    isClaude: service !== "gateway" && parseClaudeModel(model) !== undefined,
    reasoningOfCalls: thinking?.wantsReasoningOfCalls ??
      (rules.reasoningField !== undefined && open !== undefined &&
        open.byDefault && open.wantsReasoningOfCalls),
  };
});

/** The rules of a model. */
type KnownRules = Pick<ChatDialect, "thinking" | "effort"> & {
  /** Set for an OpenAI model whose provider does not fit the request to the model. */
  readonly openAi: OpenAiModelRules | undefined;
};

/** Returns the requests that a model takes. */
function abilityOf(
  target: Pick<Target, "service" | "model">,
  rules: ChatRules,
  known: KnownRules,
): Ability {
  const { openaiSettings, fullToolset, namedChoice } = rules;
  const { thinking, openAi } = known;
  const forced = thinking?.forcedTools;
  const isUnmarked = rules.cache === undefined ||
    rules.cache === "prompt_cache_breakpoint" && openAi?.cacheMarks !== true;
  return {
    protocol: "chat",
    reasoning: reasoningOf(target, rules, known),
    tools: {
      allowedList: fullToolset,
      force: forced === "never"
        ? "never"
        : namedChoice && forced !== "any_tool"
        ? "named"
        : "any",
      forbid: thinking?.forbidsTools ?? true,
      webSearch: false,
      mixedStrict: rules.mixedStrict,
      parallel: takesParallel(target),
    },
    schemas: {
      subset: schemaSubsetOf(target),
      enforces: fullToolset ? "openai" : "any",
      json: rules.json,
      formatSchemas: rules.schemas,
      formatsWithTools: rules.formatsWithTools,
    },
    sampling: samplingOf(known),
    limits: {
      leastOutputTokens: 0,
      mostOutputTokens: Infinity,
      usualOutputTokens: undefined,
      mostWholeTokens: rules.maxWholeTokens,
      // OpenAI's reasoning models reject all stop strings.
      mostStops: openAi === undefined || openAi.efforts.length === 0
        ? rules.maxStops
        : 0,
      blankStops: true,
      mostCacheMarks: Infinity,
    },
    settings: {
      temperature: true,
      topP: true,
      topK: rules.topK,
      seed: true,
      frequencyPenalty: true,
      presencePenalty: true,
      maxOutputTokens: true,
      verbosity: openaiSettings,
      user: !rules.refusesUser,
      cacheKey: openaiSettings,
      metadata: openaiSettings,
      logprobs: true,
      webSearch: openaiSettings,
      cacheOptions: openaiSettings && openAi?.cacheMarks === true,
      cacheRetention: openaiSettings && openAi?.cacheRetention === true,
      safetyIdentifier: openaiSettings,
    },
    tiers: openaiSettings ? ["auto", "standard", "flex", "priority"] : [],
    cacheMarks: isUnmarked
      ? "none"
      : rules.cache === "cache_control"
      ? "content_and_tools"
      : "content",
    continues: !openaiSettings,
    names: true,
    citations: false,
  };
}

/** Returns the sampling settings that a model takes. */
function samplingOf({ thinking, openAi }: KnownRules): SamplingAbility {
  const free = thinking?.fixedSampling
    ? "never"
    : openAi === undefined || thinking !== undefined
    ? "always"
    : "without_reasoning";
  return {
    free,
    fixed: free === "without_reasoning"
      ? [...SAMPLING_SETTINGS, "logprobs"]
      : SAMPLING_SETTINGS,
    both: true,
    mostTemperature: Infinity,
  };
}

/** Returns the reasoning settings that a model takes in Chat Completions. */
function reasoningOf(
  target: Pick<Target, "service" | "model">,
  { reasoning, fitsModel, maxEffort, openaiSettings }: ChatRules,
  { thinking, openAi, effort }: KnownRules,
): ReasoningAbility {
  if (thinking !== undefined) return switchAbility(thinking);
  if (openAi !== undefined) return openAiAbility(openAi, "chat");
  if (effort !== undefined) return effortAbility(effort);
  if (reasoning === "router") return routerAbility(mandatoryEfforts(target));
  return {
    byDefault: undefined,
    modes: [],
    efforts: fitsModel
      ? undefined
      : maxEffort === "max"
      ? ALL_EFFORTS
      : COMMON_EFFORTS,
    // At other providers, the model may be one without reasoning, which refuses any effort.
    least: openaiSettings ? "low" : undefined,
  };
}

/** The efforts that nearly all providers support. */
const COMMON_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/** The models that demand no signatures of earlier calls: all but Gemini 3 and later. */
const UNSIGNED = /^(?!gemini-)|^gemini-[12](?!\d)/;

/** The dialect and context that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: ChatDialect;
  readonly context: RequestContext;
}

const SECONDS_BY_WORD: ReadonlyMap<string, number> = new Map([
  ["5m", 300],
  ["30m", 1800],
  ["1h", 3600],
  ["12h", 43_200],
]);

/**
 * Reads the cache mark of a content part, message or tool: OpenAI's `prompt_cache_breakpoint`, or the `cache_control`
 * that many clients send.
 */
export function decodeCache(
  holder: { readonly [key: string]: unknown },
): CacheMark | undefined {
  const mark = holder.cache_control ?? holder.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? SECONDS_BY_WORD.get(mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/** Returns a cache mark as a field to add to a part or tool, or no field for a provider without cache marks. */
export function encodeCache(
  cache: CacheMark | undefined,
  spelling: CacheSpelling | undefined,
): JsonObject {
  if (cache === undefined || spelling === undefined) return {};
  const seconds = cache.ttlSeconds;
  if (spelling === "cache_control") {
    const ttl = seconds === undefined
      ? {}
      : { ttl: seconds > 300 ? "1h" : "5m" };
    return { cache_control: { type: "ephemeral", ...ttl } };
  }
  const ttl = seconds === undefined
    ? {}
    : { ttl: seconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
