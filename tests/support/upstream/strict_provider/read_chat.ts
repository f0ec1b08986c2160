import { createTurn } from "./turn.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
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

/**
 * Reads the parts of a Chat Completions request that the demo needs.
 *
 * @throws {GatewayError} When there are no messages, a role is unknown, or the request wants several choices.
 */
export function readChatAsk(body: JsonObject): AskOfBody {
  checkCount(body.n);
  return {
    isStream: body.stream === true,
    turns: readChatTurns(body.messages),
    tools: objectsOf(body.tools).map(readTool),
    toolChoice: readToolChoice(body.tool_choice),
    mayCallInParallel: body.parallel_tool_calls !== false,
    reasoning: readReasoning(body),
    maxOutputTokens: numberOf(body.max_completion_tokens) ??
      numberOf(body.max_tokens),
    stopSequences: readStops(body.stop),
    format: readFormat(objectOf(body.response_format)),
    isCompaction: false,
  };
}

/**
 * Reads a legacy text completion request as a conversation of one turn.
 *
 * @throws {GatewayError} When the prompt is missing, or the request wants several completions.
 */
export function readCompletionAsk(body: JsonObject): AskOfBody {
  checkCount(body.n);
  const [prompt] = Array.isArray(body.prompt) ? body.prompt : [body.prompt];
  if (typeof prompt !== "string") {
    throw new GatewayError(
      "invalid_request",
      "you must provide a prompt",
      { param: "prompt" },
    );
  }
  return {
    isStream: body.stream === true,
    turns: [createTurn("user", { texts: [prompt] })],
    tools: [],
    toolChoice: { mode: "none", names: undefined },
    mayCallInParallel: false,
    reasoning: "none",
    maxOutputTokens: numberOf(body.max_tokens) ?? 16,
    stopSequences: readStops(body.stop),
    format: undefined,
    isCompaction: false,
  };
}

function checkCount(count: JsonValue | undefined): void {
  if (count === undefined || count === null || count === 1) return;
  throw new GatewayError(
    "invalid_request",
    "Invalid value for 'n': this model gives one choice, expected 1",
    { param: "n", code: "invalid_value" },
  );
}

function readTool(tool: JsonObject): Tool {
  const isCustom = tool.type === "custom";
  const definition = objectOf(isCustom ? tool.custom : tool.function);
  return {
    kind: isCustom ? "custom" : "function",
    name: textOf(definition.name),
    namespace: undefined,
    description: textOf(definition.description),
    schema: objectOf(definition.parameters),
  };
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  if (choice === "none" || choice === "required") {
    return { mode: choice, names: undefined };
  }
  const { type, allowed_tools, ...named } = objectOf(choice);
  if (type === "allowed_tools") {
    const { mode, tools } = objectOf(allowed_tools);
    const names = objectsOf(tools).map((tool) => readTool(tool).name);
    return { mode: mode === "required" ? "required" : "auto", names };
  }
  const name = textOf(objectOf(named[textOf(type)]).name);
  return name === ""
    ? { mode: "auto", names: undefined }
    : { mode: "required", names: [name] };
}

function readReasoning(body: JsonObject): ReasoningMode {
  const effort = textOf(body.reasoning_effort);
  const thinking = textOf(objectOf(body.thinking).type);
  if (effort === "none" || thinking === "disabled") return "none";
  const isWanted = effort !== "" || thinking !== "" ||
    isThinkingModel(textOf(body.model));
  return isWanted ? "shown" : "none";
}

function readStops(stop: JsonValue | undefined): string[] {
  return typeof stop === "string" ? [stop] : listOf(stop).map(textOf);
}

function readFormat(format: JsonObject): JsonFormat | undefined {
  if (format.type === "json_object") return { schema: undefined };
  if (format.type !== "json_schema") return undefined;
  return { schema: objectOf(objectOf(format.json_schema).schema) };
}

const ROLES = ["system", "developer", "user", "assistant", "tool"];

/**
 * Reads the conversation of a Chat Completions request.
 *
 * @throws {GatewayError} When there are no messages, or a role is unknown.
 */
function readChatTurns(messages: JsonValue | undefined): Turn[] {
  if (messages === undefined) {
    throw new GatewayError(
      "invalid_request",
      "Missing required parameter: 'messages'.",
      { param: "messages", code: "missing_required_parameter" },
    );
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new GatewayError(
      "invalid_request",
      "Invalid 'messages': expected a list with at least one message.",
      { param: "messages", code: "invalid_type" },
    );
  }
  return objectsOf(messages).map(readTurn);
}

function readTurn(message: JsonObject, index: number): Turn {
  const role = textOf(message.role);
  if (!ROLES.includes(role)) {
    throw new GatewayError(
      "invalid_request",
      `Invalid value: '${role}'. Supported values are: ${
        ROLES.map((role) => `'${role}'`).join(", ")
      }.`,
      { param: `messages[${index}].role`, code: "invalid_value" },
    );
  }
  const content = readContent(message.content);
  switch (role) {
    case "tool":
      return createTurn("tool", {
        ...content,
        callId: textOf(message.tool_call_id),
      });
    case "assistant":
      return createTurn("assistant", {
        ...content,
        calls: objectsOf(message.tool_calls).map(readCall),
      });
    default:
      return createTurn(role === "user" ? "user" : "system", content);
  }
}

function readContent(
  content: JsonValue | undefined,
): Pick<Turn, "texts" | "attachmentCount"> {
  if (typeof content === "string") {
    return { texts: [content], attachmentCount: 0 };
  }
  const parts = objectsOf(content);
  const texts = parts.filter((part) => part.type === "text");
  return {
    texts: texts.map((part) => textOf(part.text)),
    attachmentCount: parts.length - texts.length,
  };
}

function readCall(call: JsonObject): { id: string; name: string } {
  const { name } = objectOf(
    call.type === "custom" ? call.custom : call.function,
  );
  return { id: textOf(call.id), name: textOf(name) };
}
