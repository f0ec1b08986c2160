import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { isJsonObject } from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import type { Extra, Weight } from "../../canonical/request/extras.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { decodeOutputFormat } from "../../canonical/request/output_format.ts";
import type {
  CanonicalRequest,
  ServiceTier,
} from "../../canonical/request/request.ts";
import { decodeReasoning, isReasoningSwitch } from "./reasoning_decode.ts";
import { decodeLegacyFunctions } from "../tools/legacy_functions.ts";
import { decodeToolChoice, decodeTools } from "../tools/decode.ts";
import { decodeMessages } from "./turn_decode.ts";
import { decodeWebSearch } from "../tools/web_search.ts";
import { parseRequest, type WireRequest } from "../wire.ts";

/**
 * Reads a Chat Completions request. Also takes what widespread providers and clients add to the protocol:
 * `top_k`, `thinking`, OpenRouter's `reasoning`, `cache_control`, `reasoning_content` in the history.
 *
 * @throws {GatewayError} `invalid_request` with `param`.
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const wire = parseRequest(body);
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: decodeMessages(wire.messages),
    ...(asksToContinue(body.messages) ? { continues: true } : {}),
    ...decodeTooling(wire),
    webSearch: decodeWebSearch(wire.web_search_options),
    format: decodeOutputFormat(
      wire.response_format?.type,
      wire.response_format?.json_schema ?? {},
      { field: "response_format" },
    ),
    verbosity: decodeVerbosity(wire.verbosity),
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
    serviceTier: decodeServiceTier(wire.service_tier),
    user: wire.user ?? wire.safety_identifier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    metadata: wire.metadata ?? undefined,
    extras: { chat: decodeExtras(body) },
  };
}

/** By the mark of Kimi or of Mistral and DeepSeek on the last message; elsewhere the model begins a new one. */
function asksToContinue(messages: JsonValue | undefined): boolean {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isJsonObject(last) && last.role === "assistant" &&
    (last.partial === true || last.prefix === true);
}

/**
 * The deprecated `functions` are tools of which the model calls one at a time. A caller that sends `tools`, too, knows
 * tools: to it the functions are further ones.
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
    parallelTools: wire.parallel_tool_calls ?? undefined,
  };
}

function decodeVerbosity(
  word: string | null | undefined,
): CanonicalRequest["verbosity"] {
  if (word === null || word === undefined) return undefined;
  if (word === "low" || word === "medium" || word === "high") return word;
  throw invalidField("verbosity", "is none of low, medium, high");
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

const TIER_BY_WORD: ReadonlyMap<string, ServiceTier["tier"]> = new Map<
  string,
  ServiceTier["tier"]
>([
  ["auto", "auto"],
  ["default", "standard"],
  ["flex", "flex"],
  ["priority", "priority"],
  ["fast", "priority"],
  ["scale", "priority"],
]);

function decodeServiceTier(
  word: string | null | undefined,
): ServiceTier | undefined {
  if (word === null || word === undefined) return undefined;
  return {
    tier: TIER_BY_WORD.get(word) ?? "auto",
    raw: { protocol: "chat", value: word },
  };
}

/** Fields that have a canonical place. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "web_search_options",
  "parallel_tool_calls",
  "response_format",
  "verbosity",
  "max_completion_tokens",
  "max_tokens",
  "stop",
  "temperature",
  "top_p",
  "top_k",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "service_tier",
  "user",
  "prompt_cache_key",
  "metadata",
]);

/** Fields without a canonical place whose loss does not weigh as a hint. */
const WEIGHT_BY_FIELD: Readonly<Record<string, (value: JsonValue) => Weight>> =
  {
    n: (value) => value === 1 ? "silent" : "answer",
    logprobs: (value) => value === false ? "silent" : "answer",
    top_logprobs: (value) => value === 0 ? "silent" : "answer",
    logit_bias: (value) =>
      isJsonObject(value) && Object.keys(value).length === 0
        ? "silent"
        : "answer",
    modalities: (value) =>
      JSON.stringify(value) === '["text"]' ? "silent" : "answer",
    audio: () => "answer",
    store: (value) => value === false ? "silent" : "hint",
    stream_options: () => "silent",
    usage: () => "silent",
  };

function decodeExtras(body: JsonObject): Record<string, Extra> {
  const extras: [field: string, extra: Extra][] = [];
  for (const field of Object.keys(body)) {
    const value = body[field];
    if (KNOWN_FIELDS.has(field) || value === null || value === undefined) {
      continue;
    }
    const weight = isReasoningSwitch(field, value) || isSameUser(field, body)
      ? "silent"
      : lookup(WEIGHT_BY_FIELD, field)?.(value) ?? "hint";
    extras.push([field, { value, weight }]);
  }
  return Object.fromEntries(extras);
}

function isSameUser(field: string, body: JsonObject): boolean {
  return field === "safety_identifier" &&
    (body.user === undefined || body.user === null ||
      body.user === body.safety_identifier);
}
