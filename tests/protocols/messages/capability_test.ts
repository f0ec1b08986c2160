import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { CODECS } from "../../../src/protocols/mod.ts";

// Claude Code repeats a refused request without what `capability_rejected: <class>` names. The classes are in the
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
  Deno.test(`Claude Code can leave out what ${from} rejects with "${message.slice(0, 60)}"`, () => {
    const made = encoded(from, message, options);
    assert.deepEqual([made.status, made.type], [400, "invalid_request_error"]);
    assert.equal(
      made.message,
      `${message} (capability_rejected: ${className})`,
    );
    // As Claude Code looks for it.
    assert.match(
      made.message,
      new RegExp(`capability_rejected: ${className}(?![A-Za-z0-9_:.-])`),
    );
  });
}

/** Errors that must not switch anything off. */
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
  Deno.test(`Claude Code gets no token with ${options?.status ?? 400} "${message.slice(0, 60)}"`, () => {
    const { message: made } = encoded(from, message, options);
    assert.doesNotMatch(made, /\(capability_rejected/);
  });
}

Deno.test("other callers get the provider's words alone", () => {
  const failure = CODECS.chat.decodeFailure(400, {
    error: { message: "image_url is not supported" },
  });
  for (const to of ["chat", "responses"] as const) {
    const { body } = CODECS[to].encodeFailure(failure, "req_1");
    assert.doesNotMatch(JSON.stringify(body), /capability_rejected/);
  }
});
