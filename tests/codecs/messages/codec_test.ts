import assert from "node:assert/strict";
import { messagesCodec } from "../../../src/codecs/messages/mod.ts";
import {
  codecContract,
  type ContractCase,
  respellings,
} from "../../contract/codec_contract.ts";
import {
  loadClientRequests,
  loadRecordings,
  type Recording,
} from "../../support/recorded/recordings.ts";
import { MESSAGES_CASES } from "./cases.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import { assertSendable } from "../../support/sdk/messages_rules.ts";
import { contextFor, targetOf } from "../../support/dialects/targets.ts";
import { testNeeding } from "../../support/ignored.ts";
import { translateRequest } from "../../support/translate_request.ts";
import { parseClaudeModel } from "../../../src/codecs/dialects/claude_models.ts";
import { dialectOf } from "../../../src/codecs/messages/dialect.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { CHAT_CASES } from "../chat/cases.ts";
import { steps } from "../../support/steps.ts";

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
      names: ["anthropic-claude-3-7-sonnet-incomplete-partial-json-response"],
      reason: "a call that was cut off has no complete input",
    },
    {
      rule: "request round trip",
      names: ["anthropic-claude-agent-sdk-v1-messages-beta-true-post-4"],
      reason: "an effort alone requests thinking, as in other protocols",
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
  respellings: respellings(`
^stream$ → \`stream: false\` is the default
^tools$ → an empty list is none
^tools[].input_schema.$schema$ → every schema is written in draft 2020-12
^output_config.format.schema.$schema$ → every schema is written in draft 2020-12
^system$ → a string is one block of text
^messages[].content([].content)?$ → a string is one block of text
^messages[].content[].is_error$ → \`is_error: false\` is the default
`),
});

/** Adds the model, from the recording's name. Bedrock and Vertex have it in the path. */
function withModel(recording: Recording): ContractCase {
  const { request, ...rest } = recording;
  if (request === undefined) return rest;
  return { ...rest, request: { model: recording.name, ...request } };
}

const REQUESTS = loadClientRequests(/\/messages$/);

/** The clients' fields that Chat Completions lacks. */
const DROPPED: readonly string[] = [
  // Most providers cache by themselves.
  "cache_control",
  // The upstream decides when to clear the caller's history.
  "context_management",
  // Signatures that the client made itself.
  "signature",
  // A search that the upstream runs.
  "tools",
  "top_k",
];

testNeeding(
  "the codec reads every recorded client's request, and writes a valid one" +
    (REQUESTS.length === 0 ? " (left out without recordings)" : ""),
  REQUESTS.length === 0 && "there are no recordings here",
  async (t) => {
    await steps(t, REQUESTS, ({ request }) => {
      if (request.thread !== undefined) {
        return assert.throws(
          () => messagesCodec.decodeRequest(request),
          (error) => error instanceof GatewayError && error.param === "thread",
        );
      }
      const decoded = messagesCodec.decodeRequest(request);
      const { context } = contextFor("anthropic", { model: "claude-opus-4-8" });
      assertSendable(messagesCodec.encodeRequest(decoded, context));
      const { dropped } = translateRequest(request, {
        from: messagesCodec,
        to: chatCodec,
        target: { ...context.target, service: "custom" },
      });
      for (const field of dropped) assert.ok(DROPPED.includes(field), field);
    });
  },
);

const NEWEST = 9999;

Deno.test("parseClaudeModel() reads the ids of every provider", () => {
  const ids: [string, string, number][] = [
    ["claude-3-haiku-20240307", "haiku", 300],
    ["claude-3-5-sonnet-20241022", "sonnet", 305],
    ["claude-3-7-sonnet-latest", "sonnet", 307],
    ["claude-opus-4-20250514", "opus", 400],
    ["claude-sonnet-4-0", "sonnet", 400],
    ["claude-opus-4-1", "opus", 401],
    ["claude-haiku-4-5-20251001", "haiku", 405],
    ["anthropic/claude-haiku-4.5", "haiku", 405],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet", 405],
    ["claude-opus-4-6@20260101", "opus", 406],
    ["Claude-Opus-5", "opus", 500],
    ["claude-fable-5-2", "fable", 502],
    ["claude-mythos-preview", "mythos", NEWEST],
    ["claude-next", "other", NEWEST],
  ];
  for (const [id, family, version] of ids) {
    assert.deepEqual(parseClaudeModel(id), { family, version }, id);
  }
  assert.equal(parseClaudeModel("glm-5"), undefined);
});

Deno.test("dialectOf() returns the highest output limit of each generation", () => {
  const most: Record<string, number> = {
    "claude-3-haiku": 4096,
    "claude-3-5-haiku": 8192,
    "claude-3-7-sonnet": 64_000,
    "claude-opus-4-1": 32_000,
    "claude-opus-4-5": 64_000,
    "claude-sonnet-4-5": 64_000,
    "claude-sonnet-4-6": 128_000,
    "claude-opus-6": 128_000,
    "kimi-k3": Infinity,
  };
  for (const [model, tokens] of Object.entries(most)) {
    assert.equal(
      dialectOf({ service: "custom", model }).ability.limits.mostOutputTokens,
      tokens,
      model,
    );
  }
});

Deno.test("dialectOf() returns which models accept a forced tool and which can switch thinking off", () => {
  const rules: Record<string, [string, string | undefined]> = {
    "claude-opus-4-8": ["without_thinking", "off"],
    "claude-haiku-5-5": ["without_thinking", "off"],
    "claude-sonnet-5-5": ["never", "between_tools"],
    "claude-opus-5-5": ["never", undefined],
    "claude-fable-5": ["never", undefined],
    "claude-next": ["never", undefined],
    "deepseek-chat": ["always", "between_tools"],
  };
  for (const [model, [forced, off]] of Object.entries(rules)) {
    const { tools, reasoning } =
      dialectOf({ service: "custom", model }).ability;
    const { modes, bars = [] } = reasoning;
    assert.equal(tools.force === "never", forced === "never", model);
    assert.equal(
      bars.includes("forced_call"),
      forced === "without_thinking",
      model,
    );
    assert.equal(
      modes.find((mode) => mode === "off" || mode === "between_tools"),
      off,
      model,
    );
  }
});

Deno.test("dialectOf() returns no model rules for another gateway", () => {
  const { ability } = dialectOf({
    service: "gateway",
    model: "claude-3-haiku",
  });
  assert.equal(ability.reasoning.byDefault, undefined);
  assert.equal(ability.limits.mostOutputTokens, Infinity);
});

/** One model of each generation with its own rules, and a model of a compatible server. */
const MODELS = [
  "claude-3-5-haiku-20241022",
  "claude-haiku-4-5",
  "claude-opus-4-6",
  "claude-opus-4-8",
  "claude-sonnet-5-5",
  "glm-5",
];

/** Chat requests that no Messages upstream can answer, by the requested feature. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ["every setting", "logprobs"],
  ["content of every kind", "messages"],
  [
    "deepseek-v4-flash-streaming-logprobs-matrix-streaming-disabled-length-top-absent",
    "logprobs",
  ],
  ["openai-gpt-3.5-turbo-0125-chat-completions-post", "n"],
  ["openai-gpt-3.5-turbo-0301-chat-completion", "n"],
  ["openai-gpt-4o-audio-preview-chat-audio-to-text", "messages"],
  [
    "openai-gpt-4o-mini-streaming-chat-completions-records-multiple-choices",
    "n",
  ],
  ["openai-gpt-audio-1.5-chatwithbasicaudiooutputasync", "modalities"],
]);

const FROM_CHAT_REQUESTS = [...CHAT_CASES, ...loadRecordings("chat")].flatMap(
  ({ name, request }) => request === undefined ? [] : [{ name, request }],
);

for (const model of MODELS) {
  Deno.test(`every Chat request becomes a valid Messages request for ${model}`, (t) =>
    steps(t, FROM_CHAT_REQUESTS, ({ name, request }) => {
      const param = REFUSED.get(name);
      if (param === undefined) {
        return assertSendable(translate(request, model));
      }
      assert.throws(
        () => translate(request, model),
        (error) => error instanceof GatewayError && error.param === param,
      );
    }));
}

function translate(request: JsonObject, model: string): JsonObject {
  // Azure has the model in the path.
  return translateRequest({ model: "m", ...request }, {
    from: chatCodec,
    to: messagesCodec,
    target: targetOf("custom", model),
  }).body;
}
