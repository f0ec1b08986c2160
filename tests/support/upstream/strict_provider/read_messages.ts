import { createTurn } from "./turn.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { isThinkingModel } from "../../../../src/tools/demo/providers.ts";
import {
  type AskOfBody,
  type JsonFormat,
  numberOf,
  type ReasoningMode,
  textOf,
  type Tool,
  type ToolChoice,
  type Turn,
} from "./ask.ts";
import { invalid } from "./error_shapes.ts";

/**
 * Reads the parts of a Messages request that the demo needs; also of a request to count tokens.
 *
 * @param options.isCount True for a request to count tokens, in which `max_tokens` may be missing.
 * @throws {GatewayError} When `max_tokens` or the messages are missing, a role is unknown, or the request names a thread.
 */
export function readMessagesAsk(
  body: JsonObject,
  options: { readonly isCount: boolean },
): AskOfBody {
  refuseThread(body);
  if (!options.isCount) checkLimit(body.max_tokens);
  const choice = objectOf(body.tool_choice);
  return {
    isStream: body.stream === true,
    turns: [...readSystem(body.system), ...readTurns(body.messages)],
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

/** Rejects a thread: the demo stores no conversations. After this error, the SDKs send the whole conversation. */
function refuseThread({ thread }: JsonObject): void {
  if (!isJsonObject(thread)) return;
  throw new GatewayError(
    "invalid_request",
    "thread: This model does not keep threads",
    { details: { error_code: "thread_unsupported_request" } },
  );
}

function checkLimit(limit: JsonValue | undefined): void {
  const maxTokens = numberOf(limit);
  if (maxTokens === undefined) throw invalid("max_tokens: Field required");
  if (maxTokens < 1) {
    throw invalid("max_tokens: Input should be greater than or equal to 1");
  }
}

/** Reads a tool. Tools of other types run at the provider; the demo ignores them. */
function readTool(tool: JsonObject): Tool[] {
  if (tool.type !== undefined && tool.type !== "custom") return [];
  return [{
    kind: "function",
    name: textOf(tool.name),
    namespace: undefined,
    description: textOf(tool.description),
    schema: objectOf(tool.input_schema),
  }];
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  const { type, name } = objectOf(choice);
  switch (type) {
    case "none":
      return { mode: type, names: undefined };
    case "any":
      return { mode: "required", names: undefined };
    case "tool":
      return { mode: "required", names: [textOf(name)] };
    default:
      return { mode: "auto", names: undefined };
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
  const blocks = typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : objectsOf(message.content);
  return splitResults(blocks, role);
}

/** Splits a message into turns. Results after other blocks come last: they are too late for the earlier calls. */
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
