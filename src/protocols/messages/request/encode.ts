import { type JsonObject, present } from "../../../core/json.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  loseContinuation,
  loseForeignExtras,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  RequestField,
  Sampling,
} from "../../canonical/request/request.ts";
import { dialectOf, type Scope } from "../dialect.ts";
import { encodeTooling } from "../tools/encode.ts";
import { enforceableSchema } from "../tools/enforceable_schema.ts";
import { createHistoryIds } from "../tools/tool_call_ids.ts";
import { createCacheWriter, encodeCache } from "./cache.ts";
import { DROP_MISMATCHES } from "./preserved_thinking.ts";
import {
  encodeServiceTier,
  encodeStops,
  encodeUser,
  loseSettings,
} from "./settings_encode.ts";
import { type Draft, encodeTurns } from "./turn_encode.ts";
import {
  encodeThinking,
  isThinking,
  type Thinking,
} from "./thinking_encode.ts";

/** The limit for an answer where neither the caller nor the configuration nor the model names one. */
const DEFAULT_MAX_TOKENS = 32_000;

/**
 * Writes a Messages request as the target's model takes it, for the API version `2023-06-01`, which every
 * upstream of the protocol knows.
 */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = {
    dialect: dialectOf(context.target),
    context,
    cache: createCacheWriter(request),
    ids: createHistoryIds(),
  };
  loseForeignExtras(request, "messages", context);
  loseSettings(request, scope);
  if (!scope.dialect.prefill) loseContinuation(request, context);
  const extras = ownExtras(request);
  const tooling = encodeTooling(request, scope);
  const { system, messages } = encodeTurns(request.turns, scope);
  const format = encodeFormat(request.format, scope);
  const thinking = encodeThinking({
    settings: request.reasoning,
    maxTokens: encodeLimit(request, scope),
    isForced: tooling.isForced,
    isLoopBare: isLoopBare(messages),
  }, scope);
  return {
    ...extras,
    model: context.target.model,
    max_tokens: thinking.maxTokens,
    ...encodeSystem([...system, ...format.instructions]),
    messages: [...nudged(messages, tooling.nudge)].map(jsonOf),
    ...(request.stream ? { stream: true } : {}),
    ...tooling.fields,
    ...encodeOutput(extras.output_config, format.config, {
      ...thinking,
      config: withBinding(thinking.config, scope),
    }),
    ...encodeStops(request, scope),
    ...encodeSampling(request.sampling, {
      scope,
      isThinking: isThinking(thinking.config),
    }),
    ...encodeServiceTier(request, scope),
    ...encodeUser(request.user, extras.metadata),
    ...encodeCache(request.cache),
  };
}

function jsonOf({ role, content }: Draft): JsonObject {
  return { role, content: [...content] };
}

function ownExtras(request: CanonicalRequest): JsonObject {
  const extras = Object.entries(request.extras.messages ?? {});
  return Object.fromEntries(extras.map(([name, { value }]) => [name, value]));
}

/** The protocol demands a limit. */
function encodeLimit(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): number {
  const most = Math.min(
    dialect.maxOutputTokens ?? Infinity,
    context.target.maxOutputTokens ?? Infinity,
  );
  const asked = request.maxOutputTokens;
  if (asked === undefined) {
    return most === Infinity ? DEFAULT_MAX_TOKENS : most;
  }
  if (asked > most) {
    context.reportDropped({
      field: "maxOutputTokens",
      weight: "report",
      reason: `this model writes at most ${most} tokens`,
    });
  }
  return Math.min(asked, most);
}

function encodeSystem(system: readonly JsonObject[]): JsonObject {
  return system.length === 0 ? {} : { system: [...system] };
}

/** At the end of the last words of the user, where it spoils no cached prefix. */
function nudged(
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

/** Whether the last answer called tools without a thought before, or with one that could not be sent again. */
function isLoopBare(messages: readonly Draft[]): boolean {
  const answer = messages.findLast(({ role }) => role === "assistant");
  if (!answer?.content.some(({ type }) => type === "tool_use")) return false;
  const type = answer.content[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

/** Only thinking that the model does as it sees fit, or up to a budget, takes the wish; saying nothing means the first. */
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
  format: JsonObject | undefined,
  { config, effort }: Thinking,
): JsonObject {
  const output = {
    ...(typeof extra === "object" ? extra : {}),
    ...(effort === undefined ? {} : { effort }),
    ...(format === undefined ? {} : { format }),
  };
  return {
    ...(config === undefined ? {} : { thinking: config }),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
  };
}

/** How the shape of an answer is asked for. */
interface Format {
  /** Goes into `output_config.format`. */
  readonly config?: JsonObject | undefined;
  /** Goes to the end of the system text, where the shape can only be told in words. */
  readonly instructions: readonly JsonObject[];
}

/** Writes the shape of the answer, held to by the upstream where it can. */
function encodeFormat(
  format: OutputFormat | undefined,
  scope: Scope,
): Format {
  if (format === undefined) return { instructions: [] };
  if (format.type === "json") {
    reportDropped(
      "it holds answers to no shape but a schema; it is told in words",
      scope,
    );
    return instruct("Answer with one JSON object and nothing else.");
  }
  const described = { description: format.description, ...format.schema };
  const wanted = present(described);
  const schema = scope.dialect.schemas ? enforceableSchema(wanted) : undefined;
  if (schema !== undefined) {
    return { config: { type: "json_schema", schema }, instructions: [] };
  }
  if (scope.dialect.schemas && format.strict === true) refuse(scope);
  reportDropped(
    "it cannot hold answers to this schema; it is told in words",
    scope,
  );
  return instruct(
    "Answer with one JSON object and nothing else. It must match this JSON schema:\n" +
      JSON.stringify(wanted),
  );
}

function instruct(text: string): Format {
  return { instructions: [{ type: "text", text }] };
}

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped({ field: "format", weight: "report", reason });
}

function refuse({ context }: Scope): void {
  context.reportDropped({
    field: "format",
    weight: "reject",
    reason:
      "a strict schema must not refer to itself or to others, nor have objects with arbitrary keys",
  });
}

/** What sampling depends on beside the caller's settings. */
interface SamplingOptions {
  readonly scope: Scope;
  /** Whether the model thinks in this request, which fixes most of it. */
  readonly isThinking: boolean;
}

const MAX_TEMPERATURE = 1;
/** The only temperature, and the least `top_p`, that models take which do not let themselves be drawn otherwise. */
const NEUTRAL_TEMPERATURE = 1;
const NEUTRAL_TOP_P = 0.99;
/** The least `top_p` beside thinking. */
const THINKING_TOP_P = 0.95;

/** Writes `temperature`, `top_p` and `top_k` as far as the model takes them; the rest is reported. */
function encodeSampling(
  { temperature, topP, topK }: Sampling,
  options: SamplingOptions,
): JsonObject {
  const { scope, isThinking } = options;
  const { sampling, thinking } = scope.dialect;
  const isFixed = sampling === "none" || isThinking && thinking !== "as_given";
  const leastTopP = sampling === "none" ? NEUTRAL_TOP_P : THINKING_TOP_P;
  const keep = (
    value: number | undefined,
    isTaken: boolean,
    field: RequestField,
  ) => {
    if (value === undefined || isTaken) return value;
    loseSampling(field, scope);
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

/** Other protocols go up to 2. */
function limitTemperature(
  temperature: number | undefined,
  scope: Scope,
): number | undefined {
  if (temperature === undefined || temperature <= MAX_TEMPERATURE) {
    return temperature;
  }
  loseSampling("temperature", scope);
  return MAX_TEMPERATURE;
}

function loseSampling(field: RequestField, { context }: Scope): void {
  context.reportDropped({
    field,
    weight: "report",
    reason: "this model takes no such value there",
  });
}
