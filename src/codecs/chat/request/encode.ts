import { type JsonObject, present } from "@gateway/base/json";
import {
  dropCacheMarks,
  dropContinuation,
  dropForeignExtras,
  NO_SETTING,
  ownExtras,
  type TakenSettings,
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
  takenShared,
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
import { encodeTooling } from "../tools/encode.ts";
import { encodeTurns } from "./turn_encode.ts";
import { encodeWebSearch } from "../tools/web_search.ts";

/** Encodes a Chat Completions request in the dialect of the target's service. */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const taken = takenSettings(request, scope);
  dropForeignExtras(request, "chat", context, taken);
  if (scope.dialect.cache === undefined) dropCacheMarks(request, context);
  else if (!scope.dialect.marksTools) dropCacheMarks(request, context, "tools");
  dropCitations(request.turns, context);
  if (scope.dialect.openaiSettings) dropContinuation(request, context);
  const schemas = schemaScope(scope);
  const tooling = encodeTooling(request, schemas, scope);
  const reasoning = fitReasoning(
    {
      settings: request.reasoning,
      isForced: tooling.isForced,
      hasTools: tooling.fields.tools !== undefined,
    },
    scope.dialect.ability,
    context,
  );
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
    ...encodeSampling(request, reasoning, scope),
    ...encodeReasoning(reasoning, scope.dialect),
    ...(scope.dialect.openaiSettings
      ? openaiSettings(request)
      : commonSettings(request, scope)),
    ...encodeLogprobs(request.logprobs),
    ...encodeShared(request, taken),
  };
}

function takenSettings(
  request: CanonicalRequest,
  { dialect }: Scope,
): TakenSettings {
  const { openaiSettings: isOpenAi, openAi } = dialect;
  return {
    logprobs: true,
    ...takenShared(request, "chat", {
      cacheOptions: isOpenAi && openAi?.cacheMarks === true,
      cacheRetention: isOpenAi && openAi?.cacheRetention === true,
      safetyIdentifier: isOpenAi,
    }),
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
  { sampling }: CanonicalRequest,
  reasoning: FittedReasoning,
  { dialect, context }: Scope,
): JsonObject {
  const { temperature, topP, topK, seed } = sampling;
  const { frequencyPenalty, presencePenalty } = sampling;
  if (topK !== undefined && !dialect.topK) {
    context.reportDropped("topK", NO_SETTING);
  }
  const others = {
    top_k: dialect.topK ? topK : undefined,
    [dialect.seedField]: seed,
  };
  if (!isSamplingFixed(dialect, reasoning)) {
    return present({
      temperature,
      top_p: topP,
      ...others,
      frequency_penalty: frequencyPenalty,
      presence_penalty: presencePenalty,
    });
  }
  for (const field of FIXED_FIELDS) {
    // A penalty of 0 is the default everywhere.
    const isGiven = field.endsWith("Penalty")
      ? (sampling[field] ?? 0) !== 0
      : sampling[field] !== undefined;
    if (isGiven) {
      context.reportDropped(field, "this model's sampling cannot be changed");
    }
  }
  return present(others);
}

const FIXED_FIELDS = [
  "temperature",
  "topP",
  "frequencyPenalty",
  "presencePenalty",
] as const;

function isSamplingFixed(
  { thinking, openAi }: ChatDialect,
  { isOn }: FittedReasoning,
): boolean {
  return thinking?.fixedSampling ?? (openAi !== undefined && isOn === true);
}

/** Returns the settings that only OpenAI has. */
function openaiSettings(request: CanonicalRequest): JsonObject {
  const { verbosity, serviceTier, user, conversation, metadata } = request;
  return present({
    verbosity,
    service_tier: serviceTier === undefined
      ? undefined
      : encodeServiceTier(serviceTier, "chat"),
    user: user === undefined ? undefined : shortId(user),
    prompt_cache_key: request.cacheKey ?? conversation,
    metadata: metadata === undefined ? undefined : { ...metadata },
  });
}

const OPENAI_FIELDS = ["verbosity", "cacheKey", "metadata"] as const;

/** Returns the settings that other providers support, and reports the rest. */
function commonSettings(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  for (const field of OPENAI_FIELDS) {
    if (request[field] !== undefined) {
      context.reportDropped(field, NO_SETTING);
    }
  }
  const { serviceTier, user } = request;
  if (serviceTier !== undefined && serviceTier.tier !== "auto") {
    context.reportDropped("serviceTier", NO_SETTING);
  }
  if (user === undefined) return {};
  if (!dialect.refusesUser) return { user: shortId(user) };
  context.reportDropped("user", NO_SETTING);
  return {};
}
