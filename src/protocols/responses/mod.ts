import type { Codec } from "../canonical/codec.ts";
import type { RequestField } from "../canonical/request/request.ts";
import { decodeAnswer } from "./answer/decode.ts";
import { encodeAnswer, historyForAnswer } from "./answer/encode.ts";
import { dialectOf } from "./dialect.ts";
import { decodeFailure, encodeError, encodeFailure } from "./errors.ts";
import { decodeRequest } from "./request/decode.ts";
import { encodeRequest } from "./request/encode.ts";
import { createStreamDecoder } from "./stream/decode.ts";
import { createStreamEncoder } from "./stream/encode.ts";
import { responsesWatch } from "./watch.ts";

const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  system: "instructions",
  messages: "input",
  messageName: "input[].name",
  tools: "tools",
  toolStrictness: "tools[].strict",
  toolChoice: "tool_choice",
  webSearch: "tools",
  parallelTools: "parallel_tool_calls",
  format: "text.format",
  verbosity: "text.verbosity",
  maxOutputTokens: "max_output_tokens",
  stop: "stop",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  seed: "seed",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  reasoning: "reasoning",
  sealedReasoning: "reasoning.encrypted_content",
  serviceTier: "service_tier",
  user: "safety_identifier",
  cacheKey: "prompt_cache_key",
  cache: "prompt_cache_breakpoint",
  metadata: "metadata",
  logprobs: "top_logprobs",
  cacheOptions: "prompt_cache_options",
  cacheRetention: "prompt_cache_retention",
  safetyIdentifier: "safety_identifier",
};

/** The codec of OpenAI's Responses, and of the back end of Codex. */
export const responsesCodec: Codec = {
  protocol: "responses",
  maxStops: () => 0,
  fieldNames: FIELD_NAMES,
  otherNames: { user: ["user"] },
  toolSupport(target) {
    const { fullToolset } = dialectOf(target);
    return {
      custom: fullToolset,
      namespaces: fullToolset,
      maxNameLength: 64,
    };
  },
  decodeRequest,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  historyForAnswer,
  createStreamDecoder,
  createStreamEncoder,
  decodeFailure,
  encodeFailure,
  encodeError,
  requestIdHeader: undefined,
  requestHeaders: () => [],
  headerPrefixes: () => [
    "chatgpt-",
    "openai-",
    "originator",
    "x-codex-",
    "x-openai-",
  ],
  watch: responsesWatch,
};
