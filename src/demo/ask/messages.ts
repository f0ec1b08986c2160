import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { isThinkingModel } from "../models.ts";
import { invalid, Refusal } from "../refusal.ts";
import { unseal } from "../seal.ts";
import {
  type AskOfBody,
  createTurn,
  faultOfHistory,
  type JsonFormat,
  type ReasoningMode,
  type Tool,
  type ToolChoice,
  type Turn,
} from "./ask.ts";
import { listOf, numberOf, objectOf, objectsOf, textOf } from "./fields.ts";

/** Fields of the other protocols; one in a Messages request means that a translation left it standing. */
const FOREIGN_FIELDS = [
  "frequency_penalty",
  "include",
  "input",
  "instructions",
  "logprobs",
  "max_completion_tokens",
  "max_output_tokens",
  "n",
  "parallel_tool_calls",
  "presence_penalty",
  "reasoning",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stream_options",
  "text",
  "user",
];

const MIN_THINKING_BUDGET = 1024;

const NAME_REGEXP = /^[a-zA-Z0-9_-]{1,128}$/;

/**
 * Reads a Messages request, or a request to count its tokens, as a provider would.
 *
 * @param options.isCount Whether tokens are only counted: `max_tokens` may be missing then.
 * @throws {Refusal} When a field is missing, wrong or not of this protocol, a thinking block is not the
 * provider's own, or calls and results do not pair up.
 */
export function readMessagesAsk(
  body: JsonObject,
  options: { readonly isCount: boolean },
): AskOfBody {
  refuseForeignFields(body);
  refuseThread(body);
  if (!options.isCount) checkLimits(body);
  const turns = readMessagesTurns(body);
  const choice = objectOf(body.tool_choice);
  return {
    isStream: body.stream === true,
    turns,
    tools: objectsOf(body.tools).flatMap(readTool),
    toolChoice: readToolChoice(body.tool_choice),
    mayCallInParallel: choice.disable_parallel_tool_use !== true,
    reasoning: readReasoning(body),
    maxOutputTokens: numberOf(body.max_tokens),
    stopSequences: listOf(body.stop_sequences).map(textOf),
    format: readFormat(objectOf(objectOf(body.output_config).format)),
    isCompaction: false,
  };
}

function refuseForeignFields(body: JsonObject): void {
  const found = FOREIGN_FIELDS.find((name) => body[name] !== undefined);
  if (found !== undefined) {
    throw invalid(`${found}: Extra inputs are not permitted`);
  }
}

/** The demo keeps no conversations; told so in this way, the SDKs send theirs whole. */
function refuseThread({ thread }: JsonObject): void {
  if (!isJsonObject(thread)) return;
  throw new Refusal("invalid", "thread: This model does not keep threads", {
    errorCode: "thread_unsupported_request",
  });
}

function checkLimits(body: JsonObject): void {
  const maxTokens = numberOf(body.max_tokens);
  if (maxTokens === undefined) throw invalid("max_tokens: Field required");
  if (maxTokens < 1) {
    throw invalid("max_tokens: Input should be greater than or equal to 1");
  }
  const { type, budget_tokens } = objectOf(body.thinking);
  if (type !== "enabled") return;
  const budget = numberOf(budget_tokens) ?? 0;
  if (budget < MIN_THINKING_BUDGET) {
    throw invalid(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_THINKING_BUDGET}`,
    );
  }
  if (budget >= maxTokens) {
    throw invalid(
      "`max_tokens` must be greater than `thinking.budget_tokens`",
    );
  }
}

/** Tools with a `type` of their own run at the provider; the demo has none to run. */
function readTool(tool: JsonObject, index: number): Tool[] {
  if (tool.type !== undefined && tool.type !== "custom") return [];
  const name = textOf(tool.name);
  if (!NAME_REGEXP.test(name)) {
    throw invalid(
      `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
    );
  }
  if (objectOf(tool.input_schema).type !== "object") {
    throw invalid(
      `tools.${index}.custom.input_schema.type: Input should be 'object'`,
    );
  }
  return [{
    kind: "function",
    name,
    namespace: undefined,
    description: textOf(tool.description),
    schema: objectOf(tool.input_schema),
  }];
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  if (choice === undefined) return { mode: "auto", names: undefined };
  const { type, name } = objectOf(choice);
  switch (type) {
    case "auto":
    case "none":
      return { mode: type, names: undefined };
    case "any":
      return { mode: "required", names: undefined };
    case "tool":
      return { mode: "required", names: [textOf(name)] };
    default:
      throw invalid(
        "tool_choice: Input should be an object with the type 'auto', 'any', 'tool' or 'none'",
      );
  }
}

function readReasoning(body: JsonObject): ReasoningMode {
  const { type, display } = objectOf(body.thinking);
  if (type === "disabled") return "none";
  if (type === undefined && !isThinkingModel(textOf(body.model))) return "none";
  return display === "omitted" ? "hidden" : "shown";
}

function readFormat(format: JsonObject): JsonFormat | undefined {
  return format.type === "json_schema"
    ? { schema: objectOf(format.schema) }
    : undefined;
}

type Speaker = "user" | "assistant" | "system";

/**
 * The system text and the conversation of a Messages request.
 *
 * @throws {Refusal} When a message is missing, wrong or not of this protocol, a thinking block is not the
 * provider's own, or calls and results do not pair up.
 */
function readMessagesTurns(body: JsonObject): Turn[] {
  const turns = [...readSystem(body.system), ...readTurns(body.messages)];
  checkHistory(turns);
  return turns;
}

function readSystem(system: JsonValue | undefined): Turn[] {
  const texts = typeof system === "string"
    ? [system]
    : objectsOf(system).map((block) => textOf(block.text));
  return texts.length === 0 ? [] : [createTurn("system", { texts })];
}

function readTurns(messages: JsonValue | undefined): Turn[] {
  if (messages === undefined) throw invalid("messages: Field required");
  if (!Array.isArray(messages)) {
    throw invalid("messages: Input should be a valid list");
  }
  if (messages.length === 0) {
    throw invalid("messages: at least one message is required");
  }
  return objectsOf(messages).flatMap(readMessage);
}

function readMessage(message: JsonObject, index: number): Turn[] {
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw invalid(
      `messages.${index}.role: Input should be 'user', 'assistant' or 'system'`,
    );
  }
  if (message.content === undefined || message.content === null) {
    throw invalid(`messages.${index}.content: Field required`);
  }
  const blocks = typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : objectsOf(message.content);
  if (blocks.length === 0 && role === "user") {
    throw invalid(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  blocks.forEach((block, place) =>
    checkBlock(block, `messages.${index}.content.${place}`)
  );
  return splitResults(blocks, role);
}

/** Results that do not stand first in their message come too late for the calls before it. */
function splitResults(blocks: readonly JsonObject[], role: Speaker): Turn[] {
  const isResult = (block: JsonObject) => block.type === "tool_result";
  const speechStart = blocks.findIndex((block) => !isResult(block));
  const results = speechStart < 0 ? blocks : blocks.slice(0, speechStart);
  const rest = blocks.slice(results.length);
  return [
    ...results.map(readResult),
    ...readSpeech(rest.filter((block) => !isResult(block)), role),
    ...rest.filter(isResult).map(readResult),
  ];
}

const BLOCK_TYPES_REGEXP =
  /^(text|image|document|search_result|tool_use|tool_result|thinking|redacted_thinking|container_upload|compaction|server_tool_use|\w+_tool_result)$/;

function checkBlock(block: JsonObject, path: string): void {
  const type = textOf(block.type);
  if (!BLOCK_TYPES_REGEXP.test(type)) {
    throw invalid(`${path}: Input tag '${type}' found using 'type' is unknown`);
  }
  if (type === "text" && textOf(block.text) === "") {
    throw invalid(`${path}: text content blocks must be non-empty`);
  }
  if (type === "tool_use" && typeof block.input !== "object") {
    throw invalid(`${path}.tool_use.input: Input should be an object`);
  }
  if (type === "thinking" && !isOwnThinking(block)) {
    throw invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
  }
}

/** A block whose text was omitted comes back with the signature alone. */
function isOwnThinking(block: JsonObject): boolean {
  const text = unseal(textOf(block.signature));
  const shown = textOf(block.thinking);
  return text !== undefined && (shown === "" || text.startsWith(shown));
}

function readResult(block: JsonObject): Turn {
  const { content } = block;
  const parts = typeof content === "string"
    ? [{ type: "text", text: content }]
    : objectsOf(content);
  return createTurn("tool", {
    callId: textOf(block.tool_use_id),
    ...readParts(parts),
  });
}

function readSpeech(blocks: readonly JsonObject[], role: Speaker): Turn[] {
  if (blocks.length === 0) return [];
  const calls = blocks.filter((block) => block.type === "tool_use")
    .map((block) => ({ id: textOf(block.id), name: textOf(block.name) }));
  return [createTurn(role, { ...readParts(blocks), calls })];
}

function readParts(
  parts: readonly JsonObject[],
): Pick<Turn, "texts" | "attachmentCount"> {
  return {
    texts: parts.filter((part) => part.type === "text")
      .map((part) => textOf(part.text)),
    attachmentCount:
      parts.filter((part) => part.type === "image" || part.type === "document")
        .length,
  };
}

function checkHistory(turns: readonly Turn[]): void {
  const fault = faultOfHistory(turns);
  if (fault === undefined) return;
  throw invalid(
    fault.kind === "unanswered"
      ? `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${fault.callId}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
      : `messages: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${fault.callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  );
}
