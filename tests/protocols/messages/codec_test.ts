import { messagesCodec } from "../../../src/protocols/messages/mod.ts";
import {
  codecContract,
  type ContractCase,
} from "../../contract/codec_contract.ts";
import {
  loadRecordings,
  type Recording,
} from "../../support/recorded/recordings.ts";
import { MESSAGES_CASES } from "./cases.ts";

/** Exchanges of other endpoints, which the codec does not read. */
const OTHER_ENDPOINTS = [
  "endpoint:models",
  "endpoint:count_tokens",
  "req:prompt",
];

codecContract({
  codec: messagesCodec,
  request: {
    model: "claude-sonnet-4-6",
    max_tokens: 100,
    messages: [{ role: "user", content: "hi" }],
  },
  cases: MESSAGES_CASES,
  recordings: loadRecordings("messages")
    .filter(({ tags }) => !OTHER_ENDPOINTS.some((tag) => tags.has(tag)))
    .map(withModel),
  differences: [
    {
      rule: "answer round trip",
      names: ["a refusal in words"],
      reason:
        "the words of a refusal are text, and the stop reason is the refusal",
    },
    {
      rule: "stream round trip",
      names: ["a refusal in words"],
      reason:
        "the words of a refusal are text, and the stop reason is the refusal",
    },
    {
      rule: "answer read",
      names: [
        "anthropic-claude-3-5-sonnet-generate-text-with-required-tool-call-1",
        "anthropic-claude-3-5-sonnet-tools-legacy",
        "bedrock-claude-3-5-sonnet-should-handle-multi-modal-messages-with-images",
        "bedrock-claude-3-sonnet-should-handle-multiple-tools-in-single-request",
        "counts of a compatible server",
      ],
      reason: "callers get 0 where the upstream counts no cached tokens at all",
    },
    {
      rule: "stream and answer agree",
      names: [
        "anthropic-claude-3-opus-chat-model-complete-parallel-function-call",
        "anthropic-compatible-claude-opus-4-5-message-delta-input-tokens",
        "a server that leaves things out",
      ],
      reason: "callers get 0 where the upstream counts no cached tokens at all",
    },
    {
      rule: "stream and answer agree",
      names: [
        "anthropic-claude-3-7-sonnet-incomplete-partial-json-response",
      ],
      reason:
        "a call in whose middle the answer was cut off has no input that could be written whole",
    },
    {
      rule: "request round trip",
      names: ["anthropic-claude-agent-sdk-v1-messages-beta-true-post-4"],
      reason:
        "an effort without a word of thinking asks for thinking, as in other protocols",
    },
    {
      rule: "request round trip",
      names: [
        "anthropic-claude-sonnet-4-5",
        "anthropic-claude-sonnet-4-5-structured-outputs-legacy",
      ],
      reason: "`output_format` has become `output_config.format`",
    },
  ],
  respellings: [
    { path: /^stream$/, reason: "`stream: false` is the default" },
    { path: /^tools$/, reason: "an empty list is none" },
    { path: /^system$/, reason: "a string is one block of text" },
    {
      path: /^messages\[\]\.content(\[\]\.content)?$/,
      reason: "a string is one block of text",
    },
    {
      path: /^messages\[\]\.content\[\]\.is_error$/,
      reason: "`is_error: false` is the default",
    },
  ],
});

/** Adds the model, which Bedrock and Vertex have in the path; the recordings are named after it. */
function withModel(recording: Recording): ContractCase {
  const { request, ...rest } = recording;
  if (request === undefined) return rest;
  return { ...rest, request: { model: recording.name, ...request } };
}
