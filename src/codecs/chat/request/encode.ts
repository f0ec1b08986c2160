import { type JsonObject, present } from "@gateway/base/json";
import { ownExtras } from "../../canonical/request/loss.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import { fit } from "../../canonical/request/fit.ts";
import type {
  CanonicalRequest,
  OutputFormat,
} from "../../canonical/request/request.ts";
import {
  encodeServiceTier,
  encodeShared,
  shortId,
} from "../../openai/settings.ts";
import { dialectOf, type Scope } from "../dialect.ts";
import { withInstruction, withNudge } from "./instruction.ts";
import { encodeReasoning } from "./reasoning_encode.ts";
import { encodeTooling } from "../tools/encode.ts";
import { encodeTurns } from "./turn_encode.ts";
import { encodeWebSearch } from "../tools/web_search.ts";

/** Encodes a Chat Completions request in the dialect of the target's service. */
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
      fitted.instruction === undefined
        ? messages
        : withInstruction(messages, fitted.instruction),
      fitted.tooling.nudge,
    ),
    ...encodeStream(request, scope),
    ...encodeTooling(fitted, scope),
    ...encodeWebSearch(request.webSearch),
    ...encodeFormat(fitted.format),
    ...present({
      [scope.dialect.limitField]: request.maxOutputTokens,
      stop: request.stop && [...request.stop],
    }),
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

/**
 * Returns the fields that request a stream, also for an answer that may be too long for one piece. Usage is always
 * requested, because the gateway counts it.
 */
function encodeStream(
  request: CanonicalRequest,
  { dialect }: Scope,
): JsonObject {
  const limit = request.maxOutputTokens ?? 0;
  if (!request.stream && limit <= dialect.ability.limits.mostWholeTokens) {
    return {};
  }
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
