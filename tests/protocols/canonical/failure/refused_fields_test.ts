import assert from "node:assert/strict";
import type { JsonValue } from "../../../../src/core/json.ts";
import type { Protocol } from "../../../../src/core/protocol.ts";
import {
  FIELD_FORMS,
  refusedFields,
} from "../../../../src/protocols/canonical/failure/refused_fields.ts";
import { CODECS } from "../../../../src/protocols/mod.ts";

/** A provider's error body, the fields that it refuses, and the values that it accepts. */
interface Refusal {
  readonly who: string;
  readonly protocol?: Protocol;
  readonly status?: number;
  readonly body: JsonValue;
  /** A `!` marks a field that the provider does not know. */
  readonly fields: readonly string[];
  readonly accepted?: readonly string[];
  readonly refused?: readonly string[];
}

function error(message: string, param: string | null = null): JsonValue {
  return { error: { message, type: "invalid_request_error", param } };
}

function anthropicError(message: string): JsonValue {
  return { type: "error", error: { type: "invalid_request_error", message } };
}

const DESERIALIZE = "Failed to deserialize the JSON body into the target type";

const REFUSALS: readonly Refusal[] = [
  {
    who: "OpenAI, a parameter that a model lacks",
    body: error(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "max_tokens",
    ),
    fields: ["max_tokens!"],
  },
  {
    who: "OpenAI, a value",
    body: error(
      "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
      "reasoning_effort",
    ),
    fields: ["reasoning_effort"],
    accepted: ["minimal", "low", "medium", "high"],
    refused: ["none"],
  },
  {
    who: "OpenAI, Responses, a value under its param",
    protocol: "responses",
    body: error(
      "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
      "reasoning.effort",
    ),
    fields: ["reasoning.effort"],
    accepted: ["none", "low", "medium", "high"],
    refused: ["xhigh"],
  },
  {
    who: "OpenAI, a role",
    body: error(
      "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
      "messages[0].role",
    ),
    fields: ["messages.role"],
    refused: ["system"],
  },
  {
    who: "OpenAI, a keyword of a schema",
    body: error(
      "Invalid schema for function 'f': In context=('properties', 'a'), 'minLength' is not permitted.",
      "tools[0].function.parameters",
    ),
    fields: ["tools.function.parameters", "minLength!"],
  },
  {
    who: "Azure",
    body: error("Unrecognized request argument supplied: prompt_cache_key"),
    fields: ["prompt_cache_key!"],
  },
  {
    who: "Anthropic",
    protocol: "messages",
    body: anthropicError(
      "tools.3.custom.input_examples: Extra inputs are not permitted",
    ),
    fields: ["tools.custom.input_examples!"],
  },
  {
    who: "Anthropic, two settings",
    protocol: "messages",
    body: anthropicError(
      "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    fields: ["top_p"],
  },
  {
    who: "Anthropic, a model without a setting",
    protocol: "messages",
    body: anthropicError("This model does not support the effort parameter."),
    fields: ["effort!"],
  },
  {
    who: "LM Studio, Messages",
    protocol: "messages",
    body: anthropicError(
      "request.output_config.effort: Invalid enum value. Expected 'low' | 'medium' | 'high' | 'max', received 'xhigh'",
    ),
    fields: ["output_config.effort"],
    accepted: ["low", "medium", "high", "max"],
    refused: ["xhigh"],
  },
  {
    who: "Mistral",
    status: 422,
    body: {
      object: "error",
      message: {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "messages", 31, "assistant", "reasoning_content"],
            msg: "Extra inputs are not permitted",
            input: "\n",
          },
          {
            type: "extra_forbidden",
            loc: ["body", "stream_options"],
            msg: "Extra inputs are not permitted",
            input: { include_usage: true },
          },
        ],
      },
      type: "invalid_request_error",
      param: null,
      code: null,
    },
    fields: ["messages.assistant.reasoning_content!"],
  },
  {
    who: "vLLM",
    body: {
      object: "error",
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 800}]",
      type: "BadRequestError",
      param: null,
      code: 400,
    },
    fields: ["max_completion_tokens!"],
  },
  {
    who: "SGLang",
    body: {
      object: "error",
      message:
        "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}",
      type: "Bad Request",
      param: null,
      code: 400,
    },
    fields: ["reasoning_effort"],
    accepted: ["low", "medium", "or", "high"],
    refused: ["xhigh"],
  },
  {
    who: "Groq",
    body: error(
      "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    ),
    fields: ["reasoning_content!"],
  },
  {
    who: "Cerebras",
    body: {
      message:
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
      type: "invalid_request_error",
      param: "validation_error",
      code: "wrong_api_format",
    },
    fields: ["validation_error", "messages.assistant.reasoning_content!"],
  },
  {
    who: "Gemini",
    body: [{
      error: {
        code: 400,
        message:
          'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[5].parameters.properties[8].value\': Cannot find field.\nInvalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.',
        status: "INVALID_ARGUMENT",
      },
    }],
    fields: [
      "tools.function_declarations.parameters.properties.value.const!",
      "frequency_penalty!",
    ],
  },
  {
    who: "xAI",
    body: {
      code: "Client specified an invalid argument",
      error: "Argument not supported on this model: presencePenalty",
    },
    fields: ["presencePenalty!"],
  },
  {
    who: "xAI, later",
    body: {
      code: "invalid-argument",
      error: "Model grok-4-latest does not support parameter reasoningEffort.",
    },
    fields: ["reasoningEffort!"],
  },
  {
    who: "Fireworks",
    body: error(
      "2 request validation errors: Extra inputs are not permitted, field: 'tools[0].eager_input_streaming', value: True; Extra inputs are not permitted, field: 'metadata', value: {}",
    ),
    fields: ["tools.eager_input_streaming!", "metadata!"],
  },
  {
    who: "DeepSeek, a role",
    body: error(
      `${DESERIALIZE}: messages[1].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\` at line 1 column 30930`,
    ),
    fields: ["messages.role"],
    accepted: ["system", "user", "assistant", "tool"],
    refused: ["developer"],
  },
  {
    who: "DeepSeek, a part",
    body: error(
      `${DESERIALIZE}: messages[58]: unknown variant \`image_url\`, expected \`text\` at line 1 column 182450`,
    ),
    fields: ["messages"],
    accepted: ["text"],
    refused: ["image_url"],
  },
  {
    who: "Moonshot",
    body: error("invalid temperature: only 1 is allowed for this model"),
    fields: ["temperature"],
    refused: ["only"],
  },
  {
    who: "Groq, a value",
    body: error("`reasoning_effort` must be one of `none` or `default`"),
    fields: ["reasoning_effort"],
    accepted: ["none", "or", "default"],
  },
  {
    who: "Azure's models of others",
    body: error(
      "Validation error at #/stream_options: Extra inputs are not permitted",
    ),
    fields: ["stream_options!"],
  },
];

for (const refusal of REFUSALS) {
  const { who, protocol = "chat", status = 400, body } = refusal;
  Deno.test(`the field that a provider rejects is read from its error: ${who}`, () => {
    const { fields, accepted, refused } = refusedFields(
      CODECS[protocol].decodeFailure(status, body),
    );
    const named = fields.map(({ path, isUnknown }) =>
      `${path.join(".")}${isUnknown ? "!" : ""}`
    );
    for (const field of refusal.fields) {
      assert.ok(named.includes(field), `${field} in ${named.join(", ")}`);
    }
    const expected = refusal.accepted ?? [];
    assert.deepEqual(
      accepted.filter((word) => expected.includes(word)).slice(
        0,
        expected.length,
      ),
      expected,
    );
    assert.deepEqual([...new Set(refused)], refusal.refused ?? []);
  });
}

Deno.test("every form of a refused field has its source and reads an error of this list", () => {
  const words = REFUSALS.map(({ protocol = "chat", status = 400, body }) =>
    CODECS[protocol].decodeFailure(status, body).message
  );
  for (const { provider, pattern, source } of FIELD_FORMS) {
    assert.match(source, /^https:\/\//, provider);
    assert.ok(
      words.some((message) => [...message.matchAll(pattern)].length > 0),
      provider,
    );
  }
});

Deno.test("an error whose param is in the conversation names nothing else, with any quoted words", () => {
  const { fields } = refusedFields({
    message:
      "Invalid content: \"Unsupported parameter: 'temperature'\" is not allowed",
    param: "messages[0].content",
  });
  assert.deepEqual(fields.map(({ path }) => path.join(".")), [
    "messages.content",
  ]);
});

Deno.test("an error of a megabyte names nothing, and is read fast", () => {
  const message = "Unsupported parameter: 'temperature' ".repeat(30_000);
  assert.deepEqual(refusedFields({ message }).fields, []);
  const odd = "a.".repeat(7900);
  assert.deepEqual(refusedFields({ message: odd }).fields, []);
});
