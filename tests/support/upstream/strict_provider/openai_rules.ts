import { GatewayError } from "../../../../src/base/error.ts";
import {
  type JsonObject,
  type JsonValue,
  objectsOf,
} from "../../../../src/base/json.ts";
import { type AskOfBody, numberOf, textOf, type Tool } from "./ask.ts";
import { unseal } from "./seal.ts";
import { faultOfHistory } from "./history.ts";

/**
 * Fields of the other protocols. One of them in a Chat Completions request is an error of the
 * translation.
 */
const FOREIGN_TO_CHAT = [
  "input",
  "instructions",
  "include",
  "max_output_tokens",
  "stop_sequences",
  "system",
];

/**
 * Fields of the other protocols. One of them in a Responses request is an error of the translation.
 */
const FOREIGN_TO_RESPONSES = [
  "frequency_penalty",
  "logit_bias",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "n",
  "presence_penalty",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stop_sequences",
  "system",
  "thinking",
];

const MIN_OUTPUT_TOKENS = 16;

/**
 * Judges a Chat Completions request.
 *
 * @throws {GatewayError} For a field of another protocol, a tool name or part that OpenAI rejects, or
 *   calls and results that do not pair up.
 */
export function judgeChat(body: JsonObject, ask: AskOfBody): void {
  refuseForeignFields(body, FOREIGN_TO_CHAT);
  checkToolNames(ask.tools, "function.name");
  for (const [index, { content }] of objectsOf(body.messages).entries()) {
    checkParts(content, index);
  }
  const fault = faultOfHistory(ask.turns);
  if (fault === undefined) return;
  throw new GatewayError(
    "invalid_request",
    fault.kind === "unanswered"
      ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${fault.callId}`
      : "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: "messages" },
  );
}

/**
 * Judges a Responses request, or a request to compact a conversation.
 *
 * @throws {GatewayError} For a field of another protocol, or a limit that is too small; for a tool name
 *   that OpenAI rejects, or sealed reasoning that is not the provider's own; for calls and outputs
 *   that do not pair up.
 */
export function judgeResponses(body: JsonObject, ask: AskOfBody): void {
  refuseForeignFields(body, FOREIGN_TO_RESPONSES);
  checkLimit(body.max_output_tokens);
  checkToolNames(ask.tools, "name");
  for (const [index, item] of objectsOf(body.input).entries()) {
    checkSealed(item, index);
  }
  // Unlike in the other protocols, items may lie between a call and its output.
  const fault = faultOfHistory(
    ask.turns.filter(({ role }) => role === "assistant" || role === "tool"),
  );
  if (fault === undefined) return;
  throw new GatewayError(
    "invalid_request",
    fault.kind === "unanswered"
      ? `No tool output found for function call ${fault.callId}.`
      : `No tool call found for function call output with call_id ${fault.callId}.`,
    { param: "input" },
  );
}

const KNOWN_PARTS = ["text", "image_url", "input_audio", "file", "refusal"];

function checkParts(content: JsonValue | undefined, index: number): void {
  const unknown = objectsOf(content).map(({ type }) => textOf(type))
    .find((type) => !KNOWN_PARTS.includes(type));
  if (unknown === undefined) return;
  throw new GatewayError(
    "invalid_request",
    `Invalid value: '${unknown}'. Supported values are: 'text', 'image_url', 'input_audio', 'file' and 'refusal'.`,
    { param: `messages[${index}].content`, code: "invalid_value" },
  );
}

const SEALED_ITEMS = ["reasoning", "compaction"];

function checkSealed(item: JsonObject, index: number): void {
  const token = item.encrypted_content;
  if (!SEALED_ITEMS.includes(textOf(item.type)) || typeof token !== "string") {
    return;
  }
  if (unseal(token) !== undefined) return;
  throw new GatewayError(
    "invalid_request",
    "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    {
      param: `input[${index}].encrypted_content`,
      code: "invalid_encrypted_content",
    },
  );
}

function checkLimit(limit: JsonValue | undefined): void {
  const tokens = numberOf(limit);
  if (tokens === undefined || tokens >= MIN_OUTPUT_TOKENS) return;
  throw new GatewayError(
    "invalid_request",
    `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ${tokens} instead.`,
    { param: "max_output_tokens", code: "integer_below_min_value" },
  );
}

/**
 * Rejects a body with a field of another protocol, as OpenAI rejects unknown fields.
 *
 * @throws {GatewayError} For the first field of `foreign` that `body` has.
 */
function refuseForeignFields(
  body: JsonObject,
  foreign: readonly string[],
): void {
  const found = foreign.find((name) => body[name] !== undefined);
  if (found === undefined) return;
  throw new GatewayError("invalid_request", `Unknown parameter: '${found}'.`, {
    param: found,
    code: "unknown_parameter",
  });
}

const NAME_REGEXP = /^[a-zA-Z0-9_-]+$/;

const MAX_NAME_LENGTH = 64;

/**
 * Rejects tools whose names OpenAI rejects.
 *
 * @param path The path of the name inside a tool, for the error.
 * @throws {GatewayError} For a name that is missing, longer than 64 characters, or with characters other
 *   than letters, digits, underscores and dashes.
 */
function checkToolNames(tools: readonly Tool[], path: string): void {
  for (const [index, { name }] of tools.entries()) {
    const param = `tools[${index}].${path}`;
    if (name === "") {
      throw new GatewayError(
        "invalid_request",
        `Missing required parameter: '${param}'.`,
        { param, code: "missing_required_parameter" },
      );
    }
    if (name.length > MAX_NAME_LENGTH) {
      throw new GatewayError(
        "invalid_request",
        `Invalid '${param}': string too long. Expected a string with maximum length ${MAX_NAME_LENGTH}, but got a string with length ${name.length} instead.`,
        { param, code: "string_above_max_length" },
      );
    }
    if (!NAME_REGEXP.test(name)) {
      throw new GatewayError(
        "invalid_request",
        `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        { param, code: "invalid_value" },
      );
    }
  }
}
