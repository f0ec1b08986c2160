import type { Codec } from "../canonical/codec.ts";
import {
  type RequestField,
  SHARED_FIELD_NAMES,
} from "../canonical/request/request.ts";
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
  ...SHARED_FIELD_NAMES,
  system: "instructions",
  messages: "input",
  messageName: "input[].name",
  toolStrictness: "tools[].strict",
  webSearch: "tools",
  parallelTools: "parallel_tool_calls",
  format: "text.format",
  verbosity: "text.verbosity",
  maxOutputTokens: "max_output_tokens",
  stop: "stop",
  reasoning: "reasoning",
  sealedReasoning: "reasoning.encrypted_content",
  user: "safety_identifier",
  cacheKey: "prompt_cache_key",
  cache: "prompt_cache_breakpoint",
  logprobs: "top_logprobs",
};

/** The codec of OpenAI's Responses, and of the back end of Codex. */
export const responsesCodec: Codec = {
  protocol: "responses",
  ability: (target) => dialectOf(target).ability,
  fieldNames: FIELD_NAMES,
  otherNames: { user: ["user"] },
  toolSupport(target) {
    const { tools: { full }, limits } = dialectOf(target).ability;
    return {
      custom: full,
      namespaces: full,
      maxNameLength: limits.mostNameCharacters,
      letterFirst: !full,
      maxTools: limits.mostTools,
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
