import type { Codec } from "../canonical/codec.ts";
import {
  type RequestField,
  SHARED_FIELD_NAMES,
} from "../canonical/request/request.ts";
import {
  createAnswerIds,
  historyForAnswer,
} from "../canonical/tools/tool_call_id.ts";
import { decodeAnswer } from "./answer/decode.ts";
import { encodeAnswer } from "./answer/encode.ts";
import { dialectOf } from "./dialect.ts";
import { decodeFailure, encodeError, encodeFailure } from "./errors.ts";
import { decodeRequest } from "./request/decode.ts";
import { encodeRequest } from "./request/encode.ts";
import { BINDING_BETA, settleReasoning } from "./request/preserved_thinking.ts";
import { createStreamDecoder } from "./stream/decode.ts";
import { createStreamEncoder } from "./stream/encode.ts";
import { messagesWatch } from "./watch.ts";

const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  ...SHARED_FIELD_NAMES,
  system: "system",
  messages: "messages",
  messageName: "messages",
  toolStrictness: "tools[].strict",
  webSearch: "tools",
  parallelTools: "tool_choice.disable_parallel_tool_use",
  format: "output_config.format",
  verbosity: "verbosity",
  maxOutputTokens: "max_tokens",
  stop: "stop_sequences",
  reasoning: "thinking",
  sealedReasoning: "signature",
  user: "metadata.user_id",
  cacheKey: "metadata.user_id",
  cache: "cache_control",
  logprobs: "logprobs",
};

/** The codec of Anthropic's Messages, in both API versions and including compatible servers. */
export const messagesCodec: Codec = {
  protocol: "messages",
  ability: (target) => dialectOf(target).ability,
  fieldNames: FIELD_NAMES,
  otherNames: {
    format: ["output_format"],
    reasoning: ["output_config.effort"],
  },
  toolSupport(target) {
    const { ability, limitsPropertyNames } = dialectOf(target);
    const maxNameLength = ability.limits.mostNameCharacters;
    return {
      custom: false,
      namespaces: false,
      maxNameLength,
      // Only Claude accepts longer names, and names that do not begin with a letter.
      letterFirst: maxNameLength < 128,
      limitsPropertyNames,
    };
  },
  decodeRequest,
  createAnswerIds,
  encodeRequest,
  settleReasoning,
  decodeAnswer,
  encodeAnswer,
  historyForAnswer,
  createStreamDecoder,
  createStreamEncoder,
  decodeFailure,
  encodeFailure,
  encodeError,
  requestIdHeader: "request-id",
  requestHeaders: (vendor, target) => [
    [`${vendor}-version`, "2023-06-01"],
    ...(target !== undefined && dialectOf(target).dropsMismatches
      ? [["anthropic-beta", BINDING_BETA] as [string, string]]
      : []),
  ],
  headerPrefixes: (vendor) => [`${vendor}-`, "anthropic-"],
  watch: messagesWatch,
};
