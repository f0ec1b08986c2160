import type { Codec } from "../canonical/codec.ts";
import {
  type RequestField,
  SHARED_FIELD_NAMES,
} from "../canonical/request/request.ts";
import { decodeAnswer } from "./answer/decode.ts";
import { encodeAnswer } from "./answer/encode.ts";
import { dialectOf } from "./dialect.ts";
import { decodeFailure, encodeError, encodeFailure } from "./errors.ts";
import { decodeRequest } from "./request/decode.ts";
import { encodeRequest } from "./request/encode.ts";
import { createStreamDecoder } from "./stream/decode.ts";
import { createStreamEncoder } from "./stream/encode.ts";
import { chatWatch } from "./watch.ts";

const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  ...SHARED_FIELD_NAMES,
  system: "messages",
  messages: "messages",
  messageName: "messages[].name",
  toolStrictness: "tools[].function.strict",
  webSearch: "web_search_options",
  parallelTools: "parallel_tool_calls",
  format: "response_format",
  verbosity: "verbosity",
  maxOutputTokens: "max_completion_tokens",
  stop: "stop",
  reasoning: "reasoning_effort",
  sealedReasoning: "reasoning_details",
  user: "user",
  cacheKey: "prompt_cache_key",
  cache: "cache_control",
  logprobs: "logprobs",
};

/** The codec of Chat Completions, including the extensions of compatible providers. */
export const chatCodec: Codec = {
  protocol: "chat",
  ability: (target) => dialectOf(target).ability,
  fieldNames: FIELD_NAMES,
  otherNames: {
    tools: ["functions"],
    toolChoice: ["function_call"],
    maxOutputTokens: ["max_tokens"],
    reasoning: ["thinking", "reasoning"],
    user: ["safety_identifier"],
  },
  toolSupport(target) {
    const { ability, isClaude } = dialectOf(target);
    const { full } = ability.tools;
    return {
      custom: full,
      namespaces: false,
      maxNameLength: ability.limits.mostNameCharacters,
      // OpenAI allows a digit or a dash at the start of a name. Gemini and Kimi reject such names.
      letterFirst: !full,
      limitsPropertyNames: isClaude,
      maxTools: ability.limits.mostTools,
    };
  },
  decodeRequest,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  createStreamDecoder,
  createStreamEncoder,
  decodeFailure,
  encodeFailure,
  encodeError,
  requestIdHeader: undefined,
  requestHeaders: () => [],
  headerPrefixes: () => ["openai-", "x-openai-"],
  watch: chatWatch,
};
