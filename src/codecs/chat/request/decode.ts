import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "@gateway/base/json";
import { isEffort } from "../../canonical/request/effort.ts";
import type { Extra, Weight } from "../../canonical/content/extras.ts";
import type {
  CanonicalRequest,
  ReasoningSettings,
} from "../../canonical/request/request.ts";
import {
  decodeOutputFormat,
  decodeServiceTier,
  decodeShared,
  decodeVerbosity,
} from "../../openai/settings.ts";
import {
  decodeLegacyFunctions,
  decodeToolChoice,
  decodeTools,
} from "../tools/decode.ts";
import { decodeWebSearch } from "../tools/web_search.ts";
import { KNOWN_FIELDS, parseRequest, type WireRequest } from "../wire.ts";
import { decodeMessages } from "./turn_decode.ts";

/**
 * Parses a Chat Completions request. Also reads common extensions of providers and clients: `top_k`, `thinking`,
 * OpenRouter's `reasoning`, `cache_control`, and `reasoning_content` in the history.
 *
 * @throws {GatewayError} `invalid_request` with `param`.
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const wire = parseRequest(body);
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: decodeMessages(wire.messages),
    ...(isContinuation(body.messages) ? { continues: true } : {}),
    ...decodeTooling(wire),
    webSearch: decodeWebSearch(wire.web_search_options),
    format: decodeOutputFormat(
      wire.response_format?.type,
      wire.response_format?.json_schema ?? {},
      { field: "response_format" },
    ),
    verbosity: decodeVerbosity(wire.verbosity, "verbosity"),
    maxOutputTokens: wire.max_completion_tokens ?? wire.max_tokens ?? undefined,
    stop: decodeStopStrings(wire.stop),
    sampling: {
      temperature: wire.temperature ?? undefined,
      topP: wire.top_p ?? undefined,
      topK: wire.top_k ?? undefined,
      seed: wire.seed ?? undefined,
      frequencyPenalty: wire.frequency_penalty ?? undefined,
      presencePenalty: wire.presence_penalty ?? undefined,
    },
    reasoning: decodeReasoning(body),
    serviceTier: decodeServiceTier(wire.service_tier, "chat"),
    user: wire.user ?? wire.safety_identifier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    metadata: wire.metadata ?? undefined,
    logprobs: decodeLogprobs(body),
    ...decodeShared(body, "chat"),
    extras: { chat: decodeExtras(body) },
  };
}

/**
 * Returns true when the last message has the continuation mark of Kimi (`partial`) or of Mistral and DeepSeek
 * (`prefix`). Without a mark, the model begins a new message.
 */
function isContinuation(messages: JsonValue | undefined): boolean {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isJsonObject(last) && last.role === "assistant" &&
    (last.partial === true || last.prefix === true);
}

/**
 * Reads the tools. If a request has only the deprecated `functions`, they become tools that the model calls one at a
 * time. If a request also has `tools`, the functions are added to the tools.
 */
function decodeTooling(
  wire: WireRequest,
): Pick<CanonicalRequest, "tools" | "toolChoice" | "parallelTools"> {
  const functions = wire.functions ?? [];
  const tools = wire.tools ?? [];
  if (functions.length > 0 && tools.length === 0) {
    return {
      tools: decodeLegacyFunctions(functions),
      toolChoice: decodeToolChoice(wire.function_call ?? undefined),
      parallelTools: false,
    };
  }
  const names = new Set(tools.map((tool) => tool.function?.name));
  const others = functions.filter(({ name }) => !names.has(name));
  return {
    tools: decodeTools([
      ...tools,
      ...others.map((one) => ({ type: "function", function: one })),
    ]),
    toolChoice: decodeToolChoice(
      wire.tool_choice ?? wire.function_call ?? undefined,
    ),
    parallelTools: wire.parallel_tool_calls ??
      (isSingle(wire.tool_choice) ? false : undefined),
  };
}

/** Returns true for a tool choice in the form of Messages that allows only one call at a time. */
function isSingle(choice: WireRequest["tool_choice"]): boolean {
  return isJsonObject(choice) && choice.disable_parallel_tool_use === true;
}

function decodeStopStrings(
  stop: WireRequest["stop"],
): readonly string[] | undefined {
  if (stop === null || stop === undefined) return undefined;
  const strings = (typeof stop === "string" ? [stop] : stop).filter((one) =>
    one !== ""
  );
  return strings.length > 0 ? strings : undefined;
}

/** The weights of extra fields. An extra field that is missing here has the weight `report`. */
const WEIGHT_BY_FIELD: Readonly<Record<string, (value: JsonValue) => Weight>> =
  {
    n: (value) => value === 1 ? "ignore" : "reject",
    logprobs: (value) => value === false ? "ignore" : "reject",
    top_logprobs: (value) => value === 0 ? "ignore" : "reject",
    logit_bias: (value) =>
      isJsonObject(value) && Object.keys(value).length === 0
        ? "ignore"
        : "reject",
    modalities: (value) =>
      JSON.stringify(value) === '["text"]' ? "ignore" : "reject",
    audio: () => "reject",
    store: (value) => value === false ? "ignore" : "report",
    stream_options: () => "ignore",
    usage: () => "ignore",
  };

function decodeExtras(body: JsonObject): Record<string, Extra> {
  const extras: [field: string, extra: Extra][] = [];
  for (const field of Object.keys(body)) {
    const value = body[field];
    if (KNOWN_FIELDS.has(field) || value === null || value === undefined) {
      continue;
    }
    if (isLogprobsKnown(field, body)) continue;
    const weight = isReasoningSwitch(field, value)
      ? "ignore"
      : lookup(WEIGHT_BY_FIELD, field)?.(value) ?? "report";
    extras.push([field, { value, weight }]);
  }
  return Object.fromEntries(extras);
}

/** Reads `logprobs: true`. A `logprobs` with any other value becomes an extra. */
function decodeLogprobs(
  { logprobs, top_logprobs: top }: JsonObject,
): CanonicalRequest["logprobs"] {
  if (logprobs !== true) return undefined;
  return { top: typeof top === "number" ? top : undefined };
}

function isLogprobsKnown(field: string, body: JsonObject): boolean {
  if (body.logprobs !== true) return false;
  return field === "logprobs" ||
    field === "top_logprobs" && typeof body.top_logprobs === "number";
}

/**
 * Reads the amount of reasoning and the form of its summary, from `reasoning_effort` and its extensions. `thinking` is
 * an extension of DeepSeek, Kimi and Z.ai, and with a budget of LiteLLM. `reasoning` and `include_reasoning` are
 * extensions of OpenRouter. For LiteLLM, `reasoning_effort` may be an object.
 */
function decodeReasoning(body: JsonObject): ReasoningSettings | undefined {
  const amount = decodeAmount(body);
  const summary = decodeSummary(body);
  if (summary === undefined) return amount;
  return { ...amount, summary };
}

function decodeAmount(body: JsonObject): ReasoningSettings | undefined {
  const { type: thinking, budget_tokens } = objectOf(body.thinking);
  const router = objectOf(body.reasoning);
  const word = effortWord(body) ?? router.effort;
  if (word === "none" || thinking === "disabled" || router.enabled === false) {
    return { mode: "off" };
  }
  const effort = isEffort(word) ? word : undefined;
  const budgetTokens = router.max_tokens ?? budget_tokens;
  if (typeof budgetTokens === "number") {
    return {
      mode: "budget",
      budgetTokens,
      ...(effort === undefined ? {} : { effort }),
    };
  }
  const isOn = ON_WORDS.includes(thinking) || router.enabled === true;
  if (effort === undefined) return isOn ? { mode: "adaptive" } : undefined;
  return isOn ? { mode: "adaptive", effort } : { effort };
}

/** The values of `thinking.type` that switch thinking on. */
const ON_WORDS: readonly unknown[] = ["enabled", "adaptive"];

function effortWord({ reasoning_effort }: JsonObject): JsonValue | undefined {
  return isJsonObject(reasoning_effort)
    ? reasoning_effort.effort
    : reasoning_effort ?? undefined;
}

/**
 * Returns the form of reasoning summary that the request names. Some providers give summaries only to few accounts.
 */
function decodeSummary(body: JsonObject): ReasoningSettings["summary"] {
  const router = objectOf(body.reasoning);
  const words = [
    router.summary,
    objectOf(body.reasoning_effort).summary,
    body.reasoning_summary,
  ];
  const word = words.find((one) => SUMMARIES.has(one));
  if (word !== undefined) return SUMMARIES.get(word);
  const isShown = body.include_reasoning === true || router.exclude === false;
  if (isShown) return "auto";
  const isHidden = body.include_reasoning === false || router.exclude === true;
  return isHidden ? "none" : undefined;
}

const SUMMARIES: ReadonlyMap<unknown, ReasoningSettings["summary"]> = new Map([
  ["auto", "auto"],
  ["concise", "concise"],
  ["detailed", "detailed"],
]);

/**
 * Returns true if `decodeReasoning` reads the field. As an extra, such a field is kept only for providers with the same
 * spelling.
 */
function isReasoningSwitch(field: string, value: JsonValue): boolean {
  switch (field) {
    case "reasoning_effort":
      return isJsonObject(value) || value === "none" || isEffort(value);
    case "reasoning_summary":
      return SUMMARIES.has(value);
    default:
      return ["thinking", "reasoning", "include_reasoning"].includes(field);
  }
}
