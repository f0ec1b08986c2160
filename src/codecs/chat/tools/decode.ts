import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Stop } from "../../canonical/answer/answer.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type {
  CustomTool,
  FunctionTool,
  Tool,
  ToolChoice,
  ToolReference,
} from "../../canonical/tools/tool.ts";
import { encodeStop } from "../answer/stop.ts";
import { decodeCache } from "../dialect.ts";
import type { WireFunction, WireTool } from "../wire.ts";

/** Reads `tools`; throws `invalid_request` for a function or custom tool without its definition. */
export function decodeTools(tools: readonly WireTool[]): readonly Tool[] {
  return tools.map((tool, index) => {
    const type = tool.type ?? "function";
    if (type !== "function" && type !== "custom") {
      return { kind: "hosted", protocol: "chat", type, value: jsonOf(tool) };
    }
    const decoded = type === "function"
      ? decodeFunction(tool)
      : decodeCustom(tool);
    if (decoded === undefined) {
      throw invalidField(`tools[${index}].${type}`, "is missing");
    }
    return decoded;
  });
}

/** Reads `tool_choice`. An object holds its details under the name of its type, as in `{type, function: {name}}`. */
export function decodeToolChoice(
  choice: string | JsonObject | undefined,
): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") return decodeChoiceWord(choice);
  if (choice.type === "allowed_tools") return decodeAllowed(choice);
  if (["auto", "any", "none"].includes(String(choice.type))) {
    return decodeChoiceWord(String(choice.type));
  }
  const tool = decodeReference(choice);
  if (tool !== undefined) return { type: "tool", tool };
  return { type: "hosted", protocol: "chat", value: choice };
}

function decodeChoiceWord(word: string): ToolChoice {
  if (word === "auto" || word === "none" || word === "required") {
    return { type: word };
  }
  if (word === "any") return { type: "required" };
  throw invalidField("tool_choice", "must be none, auto or required");
}

function decodeAllowed(choice: JsonObject): ToolChoice {
  const allowed = isJsonObject(choice.allowed_tools)
    ? choice.allowed_tools
    : choice;
  const tools = Array.isArray(allowed.tools)
    ? allowed.tools.map(decodeReference)
    : [];
  return {
    type: "allowed",
    mode: allowed.mode === "required" ? "required" : "auto",
    tools: tools.filter((tool) => tool !== undefined),
  };
}

/** Reads a reference to a tool: `{type, function: {name}}`. Some clients send `{type, name}` instead. */
function decodeReference(
  value: JsonValue | undefined,
): ToolReference | undefined {
  if (!isJsonObject(value)) return undefined;
  const kind = value.type === "custom" ? "custom" : "function";
  const detail = isJsonObject(value[kind]) ? value[kind] : value;
  return typeof detail.name === "string"
    ? { kind, name: detail.name }
    : undefined;
}

function decodeFunction(tool: WireTool): FunctionTool | undefined {
  const shape = tool.function;
  if (shape === null || shape === undefined) return undefined;
  return {
    kind: "function",
    name: shape.name,
    description: shape.description ?? undefined,
    parameters: shape.parameters ?? undefined,
    strict: shape.strict ?? undefined,
    cache: decodeCache(tool),
  };
}

function decodeCustom(tool: WireTool): CustomTool | undefined {
  const shape = tool.custom;
  if (shape === null || shape === undefined) return undefined;
  const grammar =
    isJsonObject(shape.format) && isJsonObject(shape.format.grammar)
      ? shape.format.grammar
      : undefined;
  return {
    kind: "custom",
    name: shape.name,
    description: shape.description ?? undefined,
    grammar: grammar === undefined ? undefined : {
      syntax: String(grammar.syntax ?? ""),
      definition: String(grammar.definition ?? ""),
    },
    cache: decodeCache(tool),
  };
}

function jsonOf(tool: WireTool): JsonObject {
  return JSON.parse(JSON.stringify(tool));
}

/**
 * Reads the deprecated `functions`. The answer to a request with functions holds at most one call, which has no id
 * (https://platform.openai.com/docs/api-reference/chat/create#chat-create-functions). The metadata marks the tools, so
 * that the encoder writes the calls of these tools in the deprecated form.
 */
export function decodeLegacyFunctions(
  functions: readonly WireFunction[],
): readonly FunctionTool[] {
  return functions.map(({ name, description, parameters }) => ({
    kind: "function",
    name,
    description: description ?? undefined,
    parameters: parameters ?? undefined,
    providerMetadata: { chat: { isLegacy: true } },
  }));
}

/** Returns true when the request uses the deprecated `functions` instead of tools. */
export function isLegacyCaller({ request }: AnswerContext): boolean {
  return request.tools.some(({ kind, ...tool }) =>
    kind === "function" && "providerMetadata" in tool &&
    tool.providerMetadata?.chat?.isLegacy === true
  );
}

/** Returns the call of an answer as the deprecated field of a message or delta. */
export function legacyCall(name: string, callArguments: string): JsonObject {
  return { function_call: { name, arguments: callArguments } };
}

/**
 * Returns the `finish_reason` for a stop. A caller of the deprecated `functions` gets the deprecated word for calls.
 */
export function stopForCaller(stop: Stop, context: AnswerContext): string {
  const word = encodeStop(stop);
  return word === "tool_calls" && isLegacyCaller(context)
    ? "function_call"
    : word;
}
