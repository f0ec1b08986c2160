import assert from "node:assert/strict";
import {
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
} from "../../../../src/core/json.ts";
import { PROTOCOLS } from "../../../../src/core/protocol.ts";
import type { Failure } from "../../../../src/protocols/canonical/failure/failure.ts";
import {
  FIELD_FORMS,
  refusedFields,
} from "../../../../src/protocols/canonical/failure/refused_fields.ts";
import { CODECS } from "../../../../src/protocols/mod.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";

/**
 * The providers' error bodies, and what they mean: the fields that a provider refuses, where `!` marks a field that it
 * does not know, and the values that it accepts and refuses.
 */
const REFUSALS = yamlPairs(`
OpenAI, a parameter that a model lacks: { error: { message: "Unsupported parameter: 'max_tokens' is
  not supported with this model. Use 'max_completion_tokens' instead.", type: invalid_request_error,
  param: max_tokens } } → { fields: ["max_tokens!"] }
OpenAI, a value: { error: { message: "Unsupported value: 'reasoning_effort' does not support 'none'
  with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
  type: invalid_request_error, param: reasoning_effort } } → { fields: [reasoning_effort],
  accepted: [minimal, low, medium, high], refused: [none] }
OpenAI, Responses, a value under its param: { error: { message: "Unsupported value: 'xhigh' is not
  supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
  type: invalid_request_error, param: reasoning.effort } } → { protocol: responses,
  fields: [reasoning.effort], accepted: [none, low, medium, high], refused: [xhigh] }
OpenAI, a role: { error: { message: "Unsupported value: 'messages[0].role' does not support 'system'
  with this model.", type: invalid_request_error, param: "messages[0].role" } } →
  { fields: [messages.role], refused: [system] }
OpenAI, a keyword of a schema: { error: { message: "Invalid schema for function 'f': In
  context=('properties', 'a'), 'minLength' is not permitted.", type: invalid_request_error,
  param: "tools[0].function.parameters" } } → { fields: [tools.function.parameters, "minLength!"] }
Azure: { error: { message: "Unrecognized request argument supplied: prompt_cache_key",
  type: invalid_request_error, param: null } } → { fields: ["prompt_cache_key!"] }
Anthropic: { type: error, error: { type: invalid_request_error,
  message: "tools.3.custom.input_examples: Extra inputs are not permitted" } } →
  { protocol: messages, fields: ["tools.custom.input_examples!"] }
Anthropic, two settings: { type: error, error: { type: invalid_request_error,
  message: "\`temperature\` and \`top_p\` cannot both be specified for this model. Please use only
  one." } } → { protocol: messages, fields: [top_p] }
Anthropic, a model without a setting: { type: error, error: { type: invalid_request_error,
  message: "This model does not support the effort parameter." } } → { protocol: messages,
  fields: ["effort!"] }
LM Studio, Messages: { type: error, error: { type: invalid_request_error,
  message: "request.output_config.effort: Invalid enum value. Expected 'low' | 'medium' | 'high' |
  'max', received 'xhigh'" } } → { protocol: messages, fields: [output_config.effort],
  accepted: [low, medium, high, max], refused: [xhigh] }
Mistral: { object: error, message: { detail: [{ type: extra_forbidden, loc: [body, messages, 31,
  assistant, reasoning_content], msg: "Extra inputs are not permitted", input: "\\n" },
  { type: extra_forbidden, loc: [body, stream_options], msg: "Extra inputs are not permitted",
  input: { include_usage: true } }] }, type: invalid_request_error, param: null, code: null } →
  { status: 422, fields: ["messages.assistant.reasoning_content!"] }
vLLM: { object: error, message: "[{'type': 'extra_forbidden', 'loc': ('body',
  'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 800}]",
  type: BadRequestError, param: null, code: 400 } → { fields: ["max_completion_tokens!"] }
SGLang: { object: error, message: "1 validation error:\\n  {'type': 'literal_error', 'loc': ('body',
  'reasoning_effort'), 'msg': \\"Input should be 'low', 'medium' or 'high'\\", 'input': 'xhigh',
  'ctx': {'expected': \\"'low', 'medium' or 'high'\\"}}", type: "Bad Request", param: null,
  code: 400 } → { fields: [reasoning_effort], accepted: [low, medium, or, high], refused: [xhigh] }
Groq: { error: { message: "'messages.1' : for 'role:assistant' the following must be
  satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
  type: invalid_request_error, param: null } } → { fields: ["reasoning_content!"] }
Cerebras: { message: "messages.2.assistant.reasoning_content: property
  'messages.2.assistant.reasoning_content' is unsupported", type: invalid_request_error,
  param: validation_error, code: wrong_api_format } → { fields: [validation_error,
  "messages.assistant.reasoning_content!"] }
Gemini: [{ error: { code: 400, message: "Invalid JSON payload received. Unknown name \\"const\\" at
  'tools[0].function_declarations[5].parameters.properties[8].value': Cannot find field.\\nInvalid
  JSON payload received. Unknown name \\"frequency_penalty\\": Cannot find field.",
  status: INVALID_ARGUMENT } }] → { fields:
  ["tools.function_declarations.parameters.properties.value.const!", "frequency_penalty!"] }
xAI: { code: "Client specified an invalid argument", error: "Argument not supported on this model:
  presencePenalty" } → { fields: ["presencePenalty!"] }
xAI, later: { code: invalid-argument, error: "Model grok-4-latest does not support parameter
  reasoningEffort." } → { fields: ["reasoningEffort!"] }
Fireworks: { error: { message: "2 request validation errors: Extra inputs are not permitted,
  field: 'tools[0].eager_input_streaming', value: True; Extra inputs are not permitted,
  field: 'metadata', value: {}", type: invalid_request_error, param: null } } →
  { fields: ["tools.eager_input_streaming!", "metadata!"] }
DeepSeek, a role: { error: { message: "Failed to deserialize the JSON body into the target type:
  messages[1].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`,
  \`assistant\`, \`tool\` at line 1 column 30930", type: invalid_request_error, param: null } } →
  { fields: [messages.role], accepted: [system, user, assistant, tool], refused: [developer] }
DeepSeek, a part: { error: { message: "Failed to deserialize the JSON body into the target type:
  messages[58]: unknown variant \`image_url\`, expected \`text\` at line 1 column 182450",
  type: invalid_request_error, param: null } } → { fields: [messages], accepted: [text],
  refused: [image_url] }
Moonshot: { error: { message: "invalid temperature: only 1 is allowed for this model",
  type: invalid_request_error, param: null } } → { fields: [temperature], refused: [only] }
Groq, a value: { error: { message: "\`reasoning_effort\` must be one of \`none\` or \`default\`",
  type: invalid_request_error, param: null } } → { fields: [reasoning_effort], accepted: [none, or,
  default] }
Azure's models of others: { error: { message: "Validation error at #/stream_options: Extra inputs
  are not permitted", type: invalid_request_error, param: null } } → { fields: ["stream_options!"] }
`);

/** Returns the failure that a refusal becomes. */
function failureOf(body: JsonValue, meaning: JsonObject): Failure {
  const protocol = PROTOCOLS.find((one) => one === meaning.protocol) ?? "chat";
  return CODECS[protocol].decodeFailure(Number(meaning.status ?? 400), body);
}

for (const [who, body, given] of REFUSALS) {
  const meaning = objectOf(given);
  Deno.test(`the field that a provider rejects is read from its error: ${who}`, () => {
    const { fields, accepted, refused } = refusedFields(
      failureOf(body, meaning),
    );
    const named = fields.map(({ path, isUnknown }) =>
      `${path.join(".")}${isUnknown ? "!" : ""}`
    );
    for (const field of listOf(meaning.fields)) {
      assert.ok(
        named.includes(String(field)),
        `${field} in ${named.join(", ")}`,
      );
    }
    const expected = listOf(meaning.accepted);
    const known = accepted.filter((word) => expected.includes(word));
    assert.deepEqual(known.slice(0, expected.length), expected);
    assert.deepEqual([...new Set(refused)], listOf(meaning.refused));
  });
}

Deno.test("every form of a refused field has its source and reads an error of this list", () => {
  const words = REFUSALS.map(([, body, meaning]) =>
    failureOf(body, objectOf(meaning)).message
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
