import type { Codec } from "../canonical/codec.ts";
import type { RequestField } from "../canonical/request.ts";
import { decodeAnswer } from "./answer_decode.ts";
import { encodeAnswer } from "./answer_encode.ts";
import { dialectOf } from "./dialect.ts";
import { decodeFailure, encodeFailure } from "./failure.ts";
import { decodeRequest } from "./request_decode.ts";
import { encodeRequest } from "./request_encode.ts";
import { createStreamDecoder } from "./stream_decode.ts";
import { createStreamEncoder } from "./stream_encode.ts";
import { createAnswerIds, historyForAnswer } from "./tool_call_ids.ts";

const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  system: "system",
  messages: "messages",
  messageName: "messages",
  tools: "tools",
  toolStrictness: "tools[].strict",
  toolChoice: "tool_choice",
  webSearch: "tools",
  parallelTools: "tool_choice.disable_parallel_tool_use",
  format: "output_config.format",
  verbosity: "verbosity",
  maxOutputTokens: "max_tokens",
  stop: "stop_sequences",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  seed: "seed",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  reasoning: "thinking",
  sealedReasoning: "signature",
  serviceTier: "service_tier",
  user: "metadata.user_id",
  cacheKey: "metadata.user_id",
  cache: "cache_control",
  metadata: "metadata",
};

/** Anthropic's Messages, of both API versions, and the servers that imitate it. */
export const messagesCodec: Codec = {
  protocol: "messages",
  hasStopStrings: true,
  fieldNames: FIELD_NAMES,
  otherNames: {
    format: ["output_format"],
    reasoning: ["output_config.effort"],
  },
  toolSupport: (target) => ({
    custom: false,
    namespaces: false,
    maxNameLength: dialectOf(target).maxNameLength,
  }),
  decodeRequest,
  createAnswerIds,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  historyForAnswer,
  createStreamDecoder,
  createStreamEncoder,
  decodeFailure,
  encodeFailure,
};
