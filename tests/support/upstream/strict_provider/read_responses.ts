import { createTurn } from "./turn.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { isThinkingModel } from "../../../../src/tools/demo/providers.ts";
import { unseal } from "./seal.ts";
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
 * Reads the parts of a Responses request that the demo needs; also of a request for compaction.
 *
 * @throws {GatewayError} When there is no input, a role is unknown, or the request refers to an answer stored at the
 * provider. The demo stores none.
 */
export function readResponsesAsk(body: JsonObject): AskOfBody {
  refuseState(body);
  const items = readItems(body.input);
  const added = items.filter((item) => item.type === "additional_tools")
    .flatMap((item) => objectsOf(item.tools));
  return {
    isStream: body.stream === true,
    turns: readResponsesTurns(items, textOf(body.instructions)),
    tools: [...objectsOf(body.tools), ...added].flatMap(readTool),
    toolChoice: readToolChoice(body.tool_choice),
    mayCallInParallel: body.parallel_tool_calls !== false,
    reasoning: readReasoning(body),
    maxOutputTokens: numberOf(body.max_output_tokens),
    stopSequences: [],
    format: readFormat(objectOf(objectOf(body.text).format)),
    isCompaction: items.at(-1)?.type === "compaction_trigger",
  };
}

function refuseState(body: JsonObject): void {
  const previous = textOf(body.previous_response_id);
  if (previous !== "") {
    throw new GatewayError(
      "invalid_request",
      `Previous response with id '${previous}' not found.`,
      { param: "previous_response_id", code: "previous_response_not_found" },
    );
  }
  for (const param of ["conversation", "background"]) {
    if (body[param] === undefined || !body[param]) continue;
    throw new GatewayError(
      "invalid_request",
      `Unsupported parameter: '${param}'.`,
      { param, code: "unsupported_parameter" },
    );
  }
}

function readItems(input: JsonValue | undefined): JsonObject[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (Array.isArray(input)) return objectsOf(input);
  throw new GatewayError(
    "invalid_request",
    "Missing required parameter: 'input'.",
    { param: "input", code: "missing_required_parameter" },
  );
}

/** Reads functions, custom tools and namespaces of them; tools that run at the provider are ignored. */
function readTool(tool: JsonObject): Tool[] {
  switch (tool.type) {
    case "function":
    case "custom":
      return [{
        kind: tool.type,
        name: textOf(tool.name),
        namespace: undefined,
        description: textOf(tool.description),
        schema: objectOf(tool.parameters),
      }];
    case "namespace":
      return objectsOf(tool.tools).flatMap(readTool)
        .map((inner) => ({ ...inner, namespace: textOf(tool.name) }));
    default:
      return [];
  }
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  if (choice === "none" || choice === "required") {
    return { mode: choice, names: undefined };
  }
  const { type, name, mode, tools } = objectOf(choice);
  if (type === "allowed_tools") {
    return {
      mode: mode === "required" ? "required" : "auto",
      names: objectsOf(tools).map((tool) => textOf(tool.name)),
    };
  }
  return typeof name === "string"
    ? { mode: "required", names: [name] }
    : { mode: "auto", names: undefined };
}

/** Reads the reasoning mode. Without a requested summary, a Responses provider hides its reasoning. */
function readReasoning(body: JsonObject): ReasoningMode {
  const { effort, summary } = objectOf(body.reasoning);
  if (effort === "none") return "none";
  if (summary !== undefined && summary !== null) return "shown";
  if (isThinkingModel(textOf(body.model))) return "shown";
  return effort === undefined || effort === null ? "none" : "hidden";
}

function readFormat(format: JsonObject): JsonFormat | undefined {
  if (format.type === "json_object") return { schema: undefined };
  return format.type === "json_schema"
    ? { schema: objectOf(format.schema) }
    : undefined;
}

/**
 * Reads the conversation of a Responses request.
 *
 * @param instructions Empty when there are none.
 * @throws {GatewayError} When a role is unknown.
 */
function readResponsesTurns(
  items: readonly JsonObject[],
  instructions: string,
): Turn[] {
  const turns = items.flatMap(readItem);
  return instructions === ""
    ? turns
    : [createTurn("system", { texts: [instructions] }), ...turns];
}

function readItem(item: JsonObject, index: number): Turn[] {
  switch (item.type ?? "message") {
    case "message":
      return [readMessage(item, index)];
    case "function_call":
    case "custom_tool_call":
      return [createTurn("assistant", {
        calls: [{ id: textOf(item.call_id), name: textOf(item.name) }],
      })];
    case "function_call_output":
    case "custom_tool_call_output":
      return [createTurn("tool", {
        callId: textOf(item.call_id),
        ...readContent(item.output),
      })];
    case "reasoning":
    case "compaction":
      return readSealed(item);
    default:
      return [];
  }
}

function readMessage(item: JsonObject, index: number): Turn {
  const content = readContent(item.content);
  switch (item.role) {
    case "user":
    case "assistant":
    case "system":
      return createTurn(item.role, content);
    case "developer":
      return createTurn("system", content);
    default:
      throw new GatewayError(
        "invalid_request",
        `Invalid value: '${
          textOf(item.role)
        }'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
        { param: `input[${index}]`, code: "invalid_value" },
      );
  }
}

function readContent(
  content: JsonValue | undefined,
): Pick<Turn, "texts" | "attachmentCount"> {
  if (typeof content === "string") {
    return { texts: [content], attachmentCount: 0 };
  }
  const parts = objectsOf(content);
  const texts = parts.filter((part) => typeof part.text === "string");
  return {
    texts: texts.map((part) => textOf(part.text)),
    attachmentCount: parts.length - texts.length,
  };
}

/** Opens a sealed item; one that this provider did not seal gives no turn. */
function readSealed({ encrypted_content: token }: JsonObject): Turn[] {
  const text = typeof token === "string" ? unseal(token) : undefined;
  return text === undefined ? [] : [createTurn("assistant", { texts: [text] })];
}
