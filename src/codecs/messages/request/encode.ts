import { type JsonObject, present } from "@gateway/base/json";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  dropContinuation,
  dropForeignExtras,
  ownExtras,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  RequestField,
  Sampling,
} from "../../canonical/request/request.ts";
import { dialectOf, type Scope } from "../dialect.ts";
import { encodeTooling } from "../tools/encode.ts";
import { createStrictRoom } from "../../canonical/schema/enforceable_schema.ts";
import { fitFormat } from "../../canonical/schema/fit_schemas.ts";
import { createCacheWriter, encodeCache, markKeyedPrefix } from "./cache.ts";
import { DROP_MISMATCHES } from "./preserved_thinking.ts";
import {
  dropSettings,
  encodeServiceTier,
  encodeStops,
  encodeUser,
  LACKS,
} from "./settings_encode.ts";
import { type Draft, encodeTurns } from "./turn_encode.ts";
import { fitSettings } from "../../canonical/request/fit_settings.ts";
import { fitReasoning } from "../../canonical/request/fit_reasoning.ts";
import { encodeThinking } from "./thinking_encode.ts";

/** The token limit when the request, the configuration and the model set none. */
const DEFAULT_MAX_TOKENS = 32_000;

/** Encodes a request in the API version `2023-06-01`, which every provider of the protocol supports. */
export function encodeRequest(
  given: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const dialect = dialectOf(context.target);
  const scope: Scope = {
    dialect,
    context,
    cache: createCacheWriter(given),
    schemas: {
      ability: dialect.schema,
      room: createStrictRoom(),
      losses: context,
    },
  };
  const request = fitSettings(
    given,
    { protocol: "messages", lacks: LACKS },
    context,
  );
  dropForeignExtras(given, "messages", context);
  dropSettings(request, scope);
  if (!scope.dialect.prefill) dropContinuation(request, context);
  const extras = ownExtras(request, "messages");
  // The format takes its room for strict schemas before the tools, because the caller parses the answer.
  const { format, instruction } = fitFormat(
    request.format,
    request.tools.length > 0,
    scope.schemas,
  );
  const tooling = encodeTooling(request, scope);
  const turns = encodeTurns(request.turns, scope);
  const { system, messages } = markKeyedPrefix(request, {
    system: instruction === undefined
      ? turns.system
      : [...turns.system, { type: "text", text: instruction }],
    messages: withNudge(turns.messages, tooling.nudge),
  });
  const { requested, highest } = limitsOf(request, scope);
  const reasoning = fitReasoning(
    {
      settings: request.reasoning,
      isForced: tooling.isForced,
      hasTools: tooling.fields.tools !== undefined,
      lacksReasoning: lacksLoopThinking(messages),
      limits: { requested, highest },
    },
    scope.dialect.reasoning,
    context,
  );
  const thinking = encodeThinking(reasoning, request.reasoning);
  return {
    ...extras,
    model: context.target.model,
    max_tokens: reasoning.maxOutputTokens ?? requested,
    ...encodeSystem(system),
    messages: messages.map(jsonOf),
    ...(request.stream ? { stream: true } : {}),
    ...tooling.fields,
    ...present({ thinking: withBinding(thinking, scope) }),
    ...encodeOutput(extras.output_config, format, reasoning.effort),
    ...encodeStops(request, scope),
    ...encodeSampling(request.sampling, {
      scope,
      isThinking: thinking !== undefined && thinking.type !== "disabled",
    }),
    ...encodeServiceTier(request, scope),
    ...encodeUser(request.user, extras.metadata),
    ...encodeCache(request.cache),
  };
}

function jsonOf({ role, content }: Draft): JsonObject {
  return { role, content: [...content] };
}

/** Returns the output limit, which the protocol requires, and the highest one of the model. */
function limitsOf(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): { readonly requested: number; readonly highest: number } {
  const highest = Math.min(
    dialect.maxOutputTokens ?? Infinity,
    context.target.maxOutputTokens ?? Infinity,
  );
  const requested = request.maxOutputTokens;
  if (requested === undefined) {
    return {
      requested: highest === Infinity ? DEFAULT_MAX_TOKENS : highest,
      highest,
    };
  }
  if (requested > highest) {
    context.reportDropped(
      "maxOutputTokens",
      `this model generates at most ${highest} tokens`,
    );
  }
  return { requested: Math.min(requested, highest), highest };
}

function encodeSystem(system: readonly JsonObject[]): JsonObject {
  return system.length === 0 ? {} : { system: [...system] };
}

/** Adds the nudge to the end of the user's last message, which keeps the cached prefix valid. */
function withNudge(
  messages: readonly Draft[],
  nudge: string | undefined,
): readonly Draft[] {
  const last = messages.at(-1);
  if (nudge === undefined || last?.role !== "user") return messages;
  const text = `<system-reminder>\n${nudge}\n</system-reminder>`;
  return [...messages.slice(0, -1), {
    role: "user",
    content: [...last.content, { type: "text", text }],
  }];
}

/** Returns true when the last answer called tools, and the request lacks the thinking before the calls. */
function lacksLoopThinking(messages: readonly Draft[]): boolean {
  const answer = messages.findLast(({ role }) => role === "assistant");
  if (!answer?.content.some(({ type }) => type === "tool_use")) return false;
  const type = answer.content[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

/** Asks the provider to drop mismatched thinking, in the modes that have the field. */
function withBinding(
  config: JsonObject | undefined,
  { dialect }: Scope,
): JsonObject | undefined {
  if (!dialect.dropsMismatches) return config;
  const { type } = config ?? { type: "adaptive" };
  return type === "adaptive" || type === "enabled"
    ? { type, ...config, ...DROP_MISMATCHES }
    : config;
}

function encodeOutput(
  extra: JsonObject["output_config"],
  format: OutputFormat | undefined,
  effort: string | undefined,
): JsonObject {
  const output = {
    ...(typeof extra === "object" ? extra : {}),
    ...present({
      effort,
      format: format?.type === "schema"
        ? { type: "json_schema", schema: format.schema }
        : undefined,
    }),
  };
  return Object.keys(output).length === 0 ? {} : { output_config: output };
}

interface SamplingOptions {
  readonly scope: Scope;
  /** True when the model thinks in this request, which fixes most sampling settings. */
  readonly isThinking: boolean;
}

const MAX_TEMPERATURE = 1;
/** The only temperature, and the lowest `top_p`, that models with fixed sampling accept. */
const NEUTRAL_TEMPERATURE = 1;
const NEUTRAL_TOP_P = 0.99;
/** The lowest `top_p` with thinking. */
const THINKING_TOP_P = 0.95;

/** Encodes `temperature`, `top_p` and `top_k` as far as the model accepts them. Unsupported values are reported. */
function encodeSampling(
  { temperature, topP, topK }: Sampling,
  options: SamplingOptions,
): JsonObject {
  const { scope, isThinking } = options;
  const { sampling } = scope.dialect;
  const isFixed = sampling === "none" || isThinking && sampling !== "free";
  const leastTopP = sampling === "none" ? NEUTRAL_TOP_P : THINKING_TOP_P;
  const keep = (
    value: number | undefined,
    isTaken: boolean,
    field: RequestField,
  ) => {
    if (value === undefined || isTaken) return value;
    dropSampling(field, scope);
    return undefined;
  };
  const keptTemperature = keep(
    limitTemperature(temperature, scope),
    !isFixed || temperature === NEUTRAL_TEMPERATURE,
    "temperature",
  );
  const keptTopP = keep(
    topP,
    isFixed ? (topP ?? 0) >= leastTopP : true,
    "topP",
  );
  const isDouble = sampling === "one" && keptTemperature !== undefined;
  return present({
    temperature: keptTemperature,
    top_p: keep(keptTopP, !isDouble, "topP"),
    top_k: keep(topK, !isFixed, "topK"),
  });
}

/** Limits the temperature to 1. Other protocols allow up to 2. */
function limitTemperature(
  temperature: number | undefined,
  scope: Scope,
): number | undefined {
  if (temperature === undefined || temperature <= MAX_TEMPERATURE) {
    return temperature;
  }
  dropSampling("temperature", scope);
  return MAX_TEMPERATURE;
}

function dropSampling(field: RequestField, { context }: Scope): void {
  context.reportDropped(field, "this model does not accept this value");
}
