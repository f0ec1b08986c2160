import assert from "node:assert/strict";
import { isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import {
  type FailureKind,
  UpstreamFailure,
} from "../../../src/codecs/canonical/failure/failure.ts";
import { decodeAnswer } from "../../../src/codecs/messages/answer/decode.ts";
import {
  decodeFailure,
  encodeFailure,
} from "../../../src/codecs/messages/errors.ts";
import { counterIds, plain } from "../../contract/codec_contract.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";

const error = (type: string, message = "words") => ({
  type: "error",
  error: { type, message },
});

Deno.test("decodeFailure() reads the protocol's own error", () => {
  const body = {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "No",
      details: { error_code: "some_code" },
    },
    request_id: "req_1",
  };
  assert.deepEqual(plain(decodeFailure(400, body)), {
    kind: "invalid_request",
    status: 400,
    message: "No",
    type: { protocol: "messages", value: "invalid_request_error" },
    code: "some_code",
  });
});

Deno.test("decodeFailure() recognizes every type, and returns its status for an error inside an answer", () => {
  const kinds: [string, FailureKind, number][] = [
    ["authentication_error", "authentication", 502],
    ["billing_error", "quota", 402],
    ["permission_error", "permission", 502],
    ["not_found_error", "not_found", 404],
    ["conflict_error", "invalid_request", 400],
    ["request_too_large", "too_large", 413],
    ["rate_limit_error", "rate_limited", 429],
    ["timeout_error", "timeout", 504],
    ["api_error", "server", 502],
    ["overloaded_error", "overloaded", 529],
    ["constructor", "server", 502],
  ];
  for (const [type, kind, status] of kinds) {
    const failure = decodeFailure(200, error(type));
    assert.deepEqual([failure.kind, failure.status], [kind, status], type);
  }
});

Deno.test("decodeFailure() uses the message and the status when the type is vague", () => {
  const kind = (status: number, body: JsonValue | undefined) =>
    decodeFailure(status, body).kind;
  const invalid = (message: string) => error("invalid_request_error", message);
  assert.equal(
    kind(400, invalid("prompt is too long: 2 tokens > 1 maximum")),
    "context_too_long",
  );
  assert.equal(
    kind(400, invalid("input length and `max_tokens` exceed context limit")),
    "context_too_long",
  );
  assert.equal(kind(400, invalid("Your credit balance is too low")), "quota");
  assert.equal(
    kind(429, error("rate_limit_error", "insufficient quota")),
    "quota",
  );
  assert.equal(
    kind(429, { error: { code: "1302", message: "Rate limit reached" } }),
    "rate_limited",
  );
  assert.equal(kind(529, undefined), "overloaded");
  assert.equal(kind(500, "text"), "server");
});

Deno.test("encodeFailure() writes the status and the message in the shape of Messages", () => {
  assert.deepEqual(
    encodeFailure(
      { kind: "rate_limited", status: 429, message: "Slow", code: "c" },
      "req_1",
    ),
    {
      status: 429,
      body: {
        type: "error",
        error: {
          type: "rate_limit_error",
          message: "Slow",
          details: { error_code: "c" },
        },
        request_id: "req_1",
      },
    },
  );
});

Deno.test("encodeFailure() chooses a status when the upstream's status is missing or reports success", () => {
  const status = (kind: FailureKind, given?: number) =>
    encodeFailure({ kind, status: given, message: "m" }, "r").status;
  assert.equal(status("overloaded"), 529);
  assert.equal(status("overloaded", 503), 503);
  assert.equal(status("broken", 200), 502);
  assert.equal(status("oversized"), 502);
  assert.equal(status("timeout"), 504);
  assert.equal(status("quota"), 402);
});

Deno.test("encodeFailure() hides the refusal of the gateway's own credential", () => {
  const { status, body } = encodeFailure(
    { kind: "authentication", status: 401, message: "invalid key sk-secret" },
    "r",
  );
  assert.equal(status, 502);
  assert.doesNotMatch(JSON.stringify(body), /sk-secret/);
  assert.match(JSON.stringify(body), /"type":"api_error"/);
});

Deno.test("encodeFailure() reports a prompt that is too long in the words that make clients compact", () => {
  const message = (given: string) => {
    const { body } = encodeFailure(
      { kind: "context_too_long", status: 400, message: given },
      "r",
    );
    return JSON.parse(JSON.stringify(body)).error.message;
  };
  const own = "prompt is too long: 210000 tokens > 200000 maximum";
  assert.equal(message(own), own);
  assert.equal(
    message(
      "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130000 tokens.",
    ),
    "prompt is too long: 130000 tokens > 128000 maximum",
  );
  assert.equal(
    message("Input tokens exceed the configured limit of 272000 tokens"),
    "prompt is too long: Input tokens exceed the configured limit of 272000 tokens",
  );
});

Deno.test("decodeAnswer() throws a failure for a body that is no answer", () => {
  const bodies: [JsonValue, FailureKind][] = [
    [null, "broken"],
    ["text", "broken"],
    [{ completion: "old" }, "broken"],
    [error("overloaded_error"), "overloaded"],
    [{ error: { type: "api_error", message: "m" } }, "server"],
    [{ content: [{ type: "tool_use", id: "x" }] }, "broken"],
    [{ content: ["text"] }, "broken"],
  ];
  for (const [body, kind] of bodies) {
    assert.throws(
      () => decodeAnswer(body, counterIds()),
      (thrown) =>
        thrown instanceof UpstreamFailure && thrown.failure.kind === kind,
      JSON.stringify(body),
    );
  }
});

// After `capability_rejected: <class>`, Claude Code repeats the request without that capability. The classes are in the
// protocol reference of its program (2.1.330, `claude gateway`, "Errors"); it looks for the token, followed by no
// character of `[A-Za-z0-9_:.-]`, and for status 400: https://code.claude.com/docs/en/llm-gateway-protocol

function encoded(
  from: Protocol,
  message: string,
  { status = 400, param = null }: { status?: number; param?: string | null } =
    {},
) {
  const failure = CODECS[from].decodeFailure(status, {
    error: { message, type: "invalid_request_error", param, code: null },
  });
  const made = CODECS.messages.encodeFailure(failure, "req_1");
  assert.ok(isJsonObject(made.body.error));
  return {
    status: made.status,
    type: made.body.error.type,
    message: String(made.body.error.message),
  };
}

/** Providers' refusals, and the class of each. */
const REFUSALS: readonly (readonly [
  from: Protocol,
  message: string,
  className: string,
  options?: { readonly status?: number; readonly param?: string },
])[] = [
  // https://github.com/nesquena/hermes-webui/issues/2297
  [
    "chat",
    "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289",
    "image_block",
  ],
  // https://github.com/proma-ai/Proma/issues/1794
  [
    "chat",
    "Model only supports text input; received unsupported content type 'image_url'.",
    "image_block",
  ],
  ["chat", "No endpoints found that support image input", "image_block", {
    status: 404,
  }],
  [
    "responses",
    "Invalid value: 'input_image'. This model does not support image inputs.",
    "image_block",
    { param: "input[0].content[1]" },
  ],
  ["chat", "unknown variant `input_file`, expected `text`", "document_block"],
  // https://github.com/ItzCrazyKns/Vane/issues/980
  [
    "chat",
    "This model does not support response format `json_schema`. See supported models.",
    "structured_outputs_unsupported",
    { param: "response_format" },
  ],
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189
  [
    "chat",
    "'response_format.type' must be 'json_schema' or 'text'",
    "structured_outputs_unsupported",
  ],
  // https://github.com/NousResearch/hermes-agent/pull/23435
  [
    "chat",
    "Model grok-4 does not support parameter reasoningEffort.",
    "effort_unsupported",
  ],
  [
    "responses",
    "Unsupported value: 'xhigh' is not supported with the 'gpt-5' model.",
    "effort_unsupported",
    { param: "reasoning.effort" },
  ],
  [
    "responses",
    "Unknown parameter: 'input[0].content[0].prompt_cache_breakpoint'.",
    "cache_control_field",
  ],
  // https://github.com/QuantumNous/new-api/issues/7307
  ["chat", "System message must be at the beginning.", "mid_conv_system"],
];

for (const [from, message, className, options] of REFUSALS) {
  Deno.test(`Claude Code gets the name of a rejected capability when ${from} refuses with "${message.slice(0, 60)}"`, () => {
    const made = encoded(from, message, options);
    assert.deepEqual([made.status, made.type], [400, "invalid_request_error"]);
    assert.equal(
      made.message,
      `${message} (capability_rejected: ${className})`,
    );
    // Claude Code searches with this pattern.
    assert.match(
      made.message,
      new RegExp(`capability_rejected: ${className}(?![A-Za-z0-9_:.-])`),
    );
  });
}

/** Errors that must not make Claude Code leave anything out. */
const OTHERS: readonly (readonly [
  Protocol,
  string,
  { readonly status?: number; readonly param?: string }?,
])[] = [
  ["chat", "Invalid 'temperature': must be between 0 and 2"],
  ["chat", "The model `x` does not exist", { status: 404 }],
  [
    "chat",
    "Invalid schema for response_format 'output': 'additionalProperties' is required to be supplied and must be false.",
    { param: "response_format" },
  ],
  ["chat", "Rate limit reached for image models, not supported", {
    status: 429,
  }],
  ["chat", "Internal error: image_url is not supported", { status: 500 }],
  ["chat", "capability_rejected: image_block"],
  ["chat", `Bad request: ${"x".repeat(500)} image_url is not supported`],
];

for (const [from, message, options] of OTHERS) {
  Deno.test(`Claude Code gets no name of a rejected capability for ${options?.status ?? 400} "${message.slice(0, 60)}"`, () => {
    const { message: made } = encoded(from, message, options);
    assert.doesNotMatch(made, /\(capability_rejected/);
  });
}

Deno.test("only Messages callers get the name of a rejected capability", () => {
  const failure = CODECS.chat.decodeFailure(400, {
    error: { message: "image_url is not supported" },
  });
  for (const to of ["chat", "responses"] as const) {
    const { body } = CODECS[to].encodeFailure(failure, "req_1");
    assert.doesNotMatch(JSON.stringify(body), /capability_rejected/);
  }
});
