import { type JsonObject, listOf, present } from "@gateway/base/json";
import type { RequestContext } from "../../canonical/codec.ts";
import { isOwnIdentifier } from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  Turn,
} from "../../canonical/request/request.ts";
import {
  encodeServiceTier,
  encodeShared,
  shortId,
} from "../../openai/settings.ts";
import { dialectOf, type ResponsesDialect, type Scope } from "../dialect.ts";
import { hasFlag } from "../fields.ts";
import { encodeTooling } from "../tools/encode.ts";
import { searchFields } from "../tools/web_search.ts";
import { fit } from "../../canonical/request/fit.ts";
import { encodeReasoning } from "./reasoning_encode.ts";
import { encodeExtras, encodeFormat } from "./settings.ts";
import { encodeTurns } from "./turn_encode.ts";

/** Encodes a Responses request in the dialect of the target. It asks the provider to store nothing. */
export function encodeRequest(
  given: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const { request, reasoning, ...fitted } = fit(
    given,
    scope.dialect.ability,
    context,
  );
  const settings = encodeReasoning(reasoning, given.reasoning, scope);
  const body: JsonObject = {
    model: context.target.model,
    ...encodeInput(request.turns, scope),
    ...encodeTooling(fitted, request.webSearch, scope),
    ...encodeText(request, fitted.format),
    ...settings,
    ...encodeLogprobs(request.logprobs, settings),
    ...present({
      temperature: request.sampling.temperature,
      top_p: request.sampling.topP,
      max_output_tokens: request.maxOutputTokens,
    }),
    ...encodeCacheKey(given),
    ...encodeRecords(request, scope.dialect),
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

function encodeText(
  { verbosity }: CanonicalRequest,
  format: OutputFormat | undefined,
): JsonObject {
  const text = present({ format: encodeFormat(format), verbosity });
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

/**
 * Encodes the cache key. If the request has no cache key, the conversation is the key. If it has no conversation
 * either, the user is the key.
 */
function encodeCacheKey(
  { cacheKey, conversation, user }: CanonicalRequest,
): JsonObject {
  const key = cacheKey ?? conversation ?? user;
  return present({ prompt_cache_key: key && shortId(key) });
}

function encodeRecords(
  request: CanonicalRequest,
  { priorityOnly, userField }: ResponsesDialect,
): JsonObject {
  const { metadata, serviceTier: tier } = request;
  return present({
    ...encodeUser(request, userField),
    metadata: metadata && { ...metadata },
    service_tier: tier && !priorityOnly
      ? encodeServiceTier(tier, "responses")
      : tier?.tier === "priority" || tier?.tier === "flex"
      ? tier.tier
      : undefined,
  });
}

/**
 * Encodes the user. If the caller sent the field of the user in this protocol, that field is written elsewhere,
 * unchanged. If the request has a different `safety_identifier`, the user goes into `user`.
 */
function encodeUser(request: CanonicalRequest, field: string): JsonObject {
  const { user, safetyIdentifier, extras } = request;
  const isOwn = extras.responses?.user !== undefined ||
    safetyIdentifier?.protocol === "responses";
  if (user === undefined || isOwn) return {};
  return { [isOwnIdentifier(request) ? "user" : field]: shortId(user) };
}
