import { type JsonObject, present } from "@gateway/base/json";
import {
  dropCacheMarks,
  dropContinuation,
  dropForeignExtras,
  ownExtras,
} from "../../canonical/request/loss.ts";
import { dropCitations } from "../../canonical/answer/readable.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import type {
  CanonicalRequest,
  OutputFormat,
} from "../../canonical/request/request.ts";
import {
  encodeServiceTier,
  encodeShared,
  shortId,
} from "../../openai/settings.ts";
import { fitFormat } from "../../canonical/schema/fit_schemas.ts";
import {
  type ChatDialect,
  dialectOf,
  maxStopsOf,
  schemaScope,
  type Scope,
} from "../dialect.ts";
import { withInstruction, withNudge } from "./instruction.ts";
import { encodeReasoning } from "./reasoning_encode.ts";
import {
  fitReasoning,
  type FittedReasoning,
} from "../../canonical/request/fit_reasoning.ts";
import {
  fitSettings,
  SAMPLING_SETTINGS,
} from "../../canonical/request/fit_settings.ts";
import { encodeTooling } from "../tools/encode.ts";
import { encodeTurns } from "./turn_encode.ts";
import { encodeWebSearch } from "../tools/web_search.ts";

/** Encodes a Chat Completions request in the dialect of the target's service. */
export function encodeRequest(
  given: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const schemas = schemaScope(scope);
  const tooling = encodeTooling(given, schemas, scope);
  const reasoning = fitReasoning(
    {
      settings: given.reasoning,
      isForced: tooling.isForced,
      hasTools: tooling.fields.tools !== undefined,
    },
    scope.dialect.ability,
    context,
  );
  const lacks = isSamplingFixed(scope.dialect, reasoning)
    ? [...scope.dialect.lacks, ...SAMPLING_SETTINGS]
    : scope.dialect.lacks;
  const request = fitSettings(given, { protocol: "chat", lacks }, context);
  dropForeignExtras(given, "chat", context);
  if (scope.dialect.cache === undefined) dropCacheMarks(request, context);
  else if (!scope.dialect.marksTools) dropCacheMarks(request, context, "tools");
  dropCitations(request.turns, context);
  if (scope.dialect.openaiSettings) dropContinuation(request, context);
  const format = fitFormat(
    request.format,
    tooling.fields.tools !== undefined,
    schemas,
  );
  const messages = encodeTurns(request.turns, {
    ...scope,
    // Without a setting in the request, the model is assumed to think, since its name matches models that think by
    // default.
    isThinking: reasoning.isOn ?? true,
    continues: request.continues === true,
  });
  return {
    ...ownExtras(request, "chat"),
    model: context.target.model,
    messages: withNudge(
      format.instruction === undefined
        ? messages
        : withInstruction(messages, format.instruction),
      tooling.nudge,
    ),
    ...encodeStream(request, scope),
    ...tooling.fields,
    ...encodeWebSearch(request.webSearch, scope),
    ...encodeFormat(format.format),
    ...encodeLimit(request, scope),
    ...encodeStops(request, scope),
    ...encodeSampling(request.sampling, scope),
    ...encodeReasoning(reasoning, scope.dialect),
    ...encodeSettings(request),
    ...encodeLogprobs(request.logprobs),
    ...encodeShared(request),
  };
}

function encodeLogprobs(wanted: CanonicalRequest["logprobs"]): JsonObject {
  if (wanted === undefined) return {};
  return { logprobs: true, ...present({ top_logprobs: wanted.top }) };
}

/** Returns the fields of a stream. Usage is always requested, for the gateway's own counts. */
function encodeStream(
  request: CanonicalRequest,
  { dialect }: Scope,
): JsonObject {
  const limit = request.maxOutputTokens ?? 0;
  if (!request.stream && limit <= dialect.maxWholeTokens) return {};
  return {
    stream: true,
    ...(dialect.streamOptions
      ? { stream_options: { include_usage: true } }
      : {}),
  };
}

function encodeFormat(format: OutputFormat | undefined): JsonObject {
  if (format === undefined) return {};
  if (format.type === "json") {
    return { response_format: { type: "json_object" } };
  }
  const { name = "output", description, schema, strict } = format;
  return {
    response_format: {
      type: "json_schema",
      json_schema: {
        name,
        ...present({ description }),
        schema,
        ...present({ strict }),
      },
    },
  };
}

function encodeLimit(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const requested = request.maxOutputTokens;
  if (requested === undefined) return {};
  const limit = context.target.maxOutputTokens ?? requested;
  if (requested > limit) {
    context.reportDropped(
      "maxOutputTokens",
      `this model generates at most ${limit} tokens`,
    );
  }
  return { [dialect.limitField]: Math.min(requested, limit) };
}

/** Returns the stop strings, always as a list, since some providers accept nothing else. */
function encodeStops(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { stop } = request;
  if (stop === undefined) return {};
  const most = maxStopsOf(dialect);
  if (stop.length > most) {
    context.reportDropped(
      "stop",
      `this model accepts at most ${most} stop strings; the gateway cuts the answer at others`,
    );
  }
  return most === 0 ? {} : { stop: stop.slice(0, most) };
}

function encodeSampling(
  sampling: CanonicalRequest["sampling"],
  { dialect }: Scope,
): JsonObject {
  return present({
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    [dialect.seedField]: sampling.seed,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
  });
}

function isSamplingFixed(
  { thinking, openAi }: ChatDialect,
  { isOn }: FittedReasoning,
): boolean {
  return thinking?.fixedSampling ?? (openAi !== undefined && isOn === true);
}

function encodeSettings(request: CanonicalRequest): JsonObject {
  const { verbosity, serviceTier, user, conversation, metadata } = request;
  return present({
    verbosity,
    service_tier: serviceTier && encodeServiceTier(serviceTier, "chat"),
    user: user && shortId(user),
    prompt_cache_key: request.cacheKey ?? conversation,
    metadata: metadata && { ...metadata },
  });
}
