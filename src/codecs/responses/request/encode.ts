import { type JsonObject, listOf, present } from "@gateway/base/json";
import { dropCitations } from "../../canonical/answer/readable.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  dropCacheMarks,
  dropContinuation,
  dropForeignExtras,
  isOwnIdentifier,
  NO_SETTING,
  type TakenSettings,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  RequestField,
  Turn,
} from "../../canonical/request/request.ts";
import {
  encodeServiceTier,
  encodeShared,
  shortId,
  takenShared,
} from "../../openai/settings.ts";
import {
  dialectOf,
  type ResponsesDialect,
  schemaScope,
  type Scope,
} from "../dialect.ts";
import { hasFlag } from "../fields.ts";
import { fitFormat } from "../../canonical/schema/fit_schemas.ts";
import { encodeTooling } from "../tools/encode.ts";
import { searchFields } from "../tools/web_search.ts";
import {
  fitReasoning,
  type FittedReasoning,
} from "../../canonical/request/fit_reasoning.ts";
import { encodeReasoning } from "./reasoning_encode.ts";
import { encodeExtras, encodeFormat } from "./settings.ts";
import { encodeTurns } from "./turn_encode.ts";

/** Encodes a Responses request in the dialect of the target. It asks the provider to store nothing. */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const reasoning = fitReasoning(
    { settings: request.reasoning, isForced: false, hasTools: false },
    scope.dialect.ability,
    context,
  );
  const settings = encodeReasoning(reasoning, request.reasoning, scope);
  const taken = takenSettings(request, reasoning, scope);
  dropForeignExtras(request, "responses", context, taken);
  dropSettings(request, scope);
  dropCacheMarks(
    request,
    context,
    scope.dialect.cacheMarks ? "tools" : undefined,
  );
  dropCitations(request.turns, context);
  dropContinuation(request, context);
  const body: JsonObject = {
    model: context.target.model,
    ...encodeInput(request.turns, scope),
    ...encodeTooling(request, scope),
    ...encodeText(request, scope),
    ...settings,
    ...encodeLogprobs(request.logprobs, settings),
    ...encodeSampling(request, reasoning, scope),
    ...encodeMaximum(request, scope),
    ...encodeRecords(request, scope),
    ...encodeShared(request, taken),
    store: false,
    ...(request.stream ? { stream: true } : {}),
  };
  return {
    ...body,
    ...searchFields(request.tools, body.include, scope.dialect),
    ...encodeExtras(request, body),
  };
}

function takenSettings(
  request: CanonicalRequest,
  { isOn }: FittedReasoning,
  { dialect }: Scope,
): TakenSettings {
  const { records, model, cacheMarks, userField } = dialect;
  return {
    logprobs: dialect.limits && dialect.hostedTools && !isFixed(isOn, dialect),
    ...takenShared(request, "responses", {
      cacheOptions: cacheMarks,
      cacheRetention: records && model?.cacheRetention === true,
      safetyIdentifier: records && userField === "safety_identifier",
    }),
  };
}

/** Reports the settings that the protocol does not have. */
function dropSettings(request: CanonicalRequest, { context }: Scope): void {
  const { topK, seed, frequencyPenalty, presencePenalty } = request.sampling;
  dropGiven(context, [
    ["topK", topK],
    ["seed", seed],
    ["frequencyPenalty", frequencyPenalty || undefined],
    ["presencePenalty", presencePenalty || undefined],
  ]);
  if (request.stop === undefined) return;
  context.reportDropped(
    "stop",
    "this model's provider does not support stop strings; the gateway cuts the answer",
  );
}

/** Encodes the input. `instructions` keep their field, and other system turns become messages. */
function encodeInput(turns: readonly Turn[], scope: Scope): JsonObject {
  const instructions = turns.find(isInstructions);
  const text = instructions?.blocks.map((block) =>
    block.kind === "text" ? block.text : ""
  ).join("\n\n");
  const input = encodeTurns(
    turns.filter((turn) => turn !== instructions),
    scope,
  );
  return {
    ...present({
      instructions: text ??
        (scope.dialect.demandsInstructions ? "" : undefined),
    }),
    input,
  };
}

function isInstructions(turn: Turn): boolean {
  return hasFlag(turn, "isInstructions");
}

function encodeText(request: CanonicalRequest, scope: Scope): JsonObject {
  const { format } = fitFormat(
    request.format,
    request.tools.length > 0,
    schemaScope(scope),
  );
  const text = present({
    format: encodeFormat(format),
    verbosity: request.verbosity,
  });
  return Object.keys(text).length === 0 ? {} : { text };
}

function encodeLogprobs(
  wanted: CanonicalRequest["logprobs"],
  reasoning: JsonObject,
): JsonObject {
  if (wanted === undefined) return {};
  const include = listOf(reasoning.include);
  return {
    include: [...include, "message.output_text.logprobs"],
    ...present({ top_logprobs: wanted.top }),
  };
}

/** Returns true when the model reasons in a way that fixes its sampling. */
function isFixed(
  isOn: boolean | undefined,
  dialect: ResponsesDialect,
): boolean {
  return isOn === true && dialect.model !== undefined && !dialect.fitsModel;
}

/** Encodes the sampling settings, which OpenAI's reasoning models reject. */
function encodeSampling(
  { sampling: { temperature, topP } }: CanonicalRequest,
  { isOn }: FittedReasoning,
  { dialect, context }: Scope,
): JsonObject {
  if (dialect.limits && !isFixed(isOn, dialect)) {
    return present({ temperature, top_p: topP });
  }
  dropGiven(context, [["temperature", temperature], ["topP", topP]]);
  return {};
}

function encodeMaximum(
  { maxOutputTokens: requested }: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  if (requested === undefined) return {};
  if (!dialect.limits) {
    dropGiven(context, [["maxOutputTokens", requested]]);
    return {};
  }
  const limit = context.target.maxOutputTokens ?? Infinity;
  const tokens = Math.max(dialect.minOutputTokens, Math.min(requested, limit));
  if (tokens !== requested) {
    context.reportDropped(
      "maxOutputTokens",
      `this model accepts limits from ${dialect.minOutputTokens} to ${limit} tokens`,
    );
  }
  return { max_output_tokens: tokens };
}

/** Encodes the user, the records and the cache key, which the requests of a user share by default. */
function encodeRecords(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { user, cacheKey, conversation, metadata } = request;
  const key = cacheKey ?? conversation ?? user;
  const prompt_cache_key = key === undefined ? undefined : shortId(key);
  if (!dialect.records) {
    dropGiven(context, [["user", user], ["metadata", metadata]]);
    return present({ prompt_cache_key, ...encodePriority(request, context) });
  }
  return present({
    prompt_cache_key,
    ...encodeUser(request, dialect.userField),
    metadata: metadata === undefined ? undefined : { ...metadata },
    service_tier: request.serviceTier === undefined
      ? undefined
      : encodeServiceTier(request.serviceTier, "responses"),
  });
}

/**
 * Encodes the user. Fields that the caller sent in this protocol are written elsewhere, unchanged. When the request has
 * a different `safety_identifier`, the user goes into `user`.
 */
function encodeUser(request: CanonicalRequest, field: string): JsonObject {
  const { user, safetyIdentifier, extras } = request;
  const isOwn = extras.responses?.user !== undefined ||
    safetyIdentifier?.protocol === "responses";
  if (user === undefined || isOwn) return {};
  return { [isOwnIdentifier(request) ? "user" : field]: shortId(user) };
}

function encodePriority(
  { serviceTier }: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  if (serviceTier?.tier === "priority") return { service_tier: "priority" };
  dropGiven(context, [[
    "serviceTier",
    serviceTier?.tier === "flex" ? serviceTier : undefined,
  ]]);
  return {};
}

/** Reports the fields that have a value, which the provider does not support. */
function dropGiven(
  context: RequestContext,
  fields: readonly (readonly [field: RequestField, value: unknown])[],
): void {
  for (const [field, value] of fields) {
    if (value === undefined) continue;
    context.reportDropped(field, NO_SETTING);
  }
}
