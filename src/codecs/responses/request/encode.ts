import { type JsonObject, listOf, present } from "@gateway/base/json";
import { dropCitations } from "../../canonical/answer/readable.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  dropCacheMarks,
  dropContinuation,
  dropForeignExtras,
  isOwnIdentifier,
  NO_SETTING,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../canonical/request/request.ts";
import {
  encodeServiceTier,
  encodeShared,
  shortId,
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
import { fitSettings } from "../../canonical/request/fit_settings.ts";
import { encodeReasoning } from "./reasoning_encode.ts";
import { encodeExtras, encodeFormat } from "./settings.ts";
import { encodeTurns } from "./turn_encode.ts";

/** Encodes a Responses request in the dialect of the target. It asks the provider to store nothing. */
export function encodeRequest(
  given: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const reasoning = fitReasoning(
    { settings: given.reasoning, isForced: false, hasTools: false },
    scope.dialect.ability,
    context,
  );
  const settings = encodeReasoning(reasoning, given.reasoning, scope);
  const lacks = isFixed(reasoning, scope.dialect)
    ? [...scope.dialect.lacks, ...FIXED_SETTINGS]
    : scope.dialect.lacks;
  const request = fitSettings(
    given,
    { protocol: "responses", lacks },
    context,
  );
  dropForeignExtras(given, "responses", context);
  if (request.stop !== undefined) {
    context.reportDropped(
      "stop",
      "this model's provider does not support stop strings; the gateway cuts the answer",
    );
  }
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
    ...present({
      temperature: request.sampling.temperature,
      top_p: request.sampling.topP,
    }),
    ...encodeMaximum(request, scope),
    ...encodeCacheKey(given),
    ...encodeRecords(request, scope),
    ...encodeShared(request),
    store: false,
    ...(request.stream ? { stream: true } : {}),
  };
  return {
    ...body,
    ...searchFields(request.tools, body.include, scope.dialect),
    ...encodeExtras(request, body),
  };
}

/** The settings that OpenAI's models refuse while they reason. */
const FIXED_SETTINGS = ["temperature", "topP", "logprobs"] as const;

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
  { isOn }: FittedReasoning,
  { model, fitsModel }: ResponsesDialect,
): boolean {
  return isOn === true && model !== undefined && !fitsModel;
}

function encodeMaximum(
  { maxOutputTokens: requested }: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  if (requested === undefined) return {};
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

/** Encodes the cache key. Without one, the conversation or else the user is the key. */
function encodeCacheKey(
  { cacheKey, conversation, user }: CanonicalRequest,
): JsonObject {
  const key = cacheKey ?? conversation ?? user;
  return present({ prompt_cache_key: key && shortId(key) });
}

/** Encodes the user, the metadata and the service tier, as far as the provider has them. */
function encodeRecords(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { metadata, serviceTier } = request;
  if (!dialect.records) return encodePriority(request, context);
  return present({
    ...encodeUser(request, dialect.userField),
    metadata: metadata && { ...metadata },
    service_tier: serviceTier && encodeServiceTier(serviceTier, "responses"),
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
  if (serviceTier?.tier === "flex") {
    context.reportDropped("serviceTier", NO_SETTING);
  }
  return {};
}
