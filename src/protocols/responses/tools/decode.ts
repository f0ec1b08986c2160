import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { toolKey } from "../../canonical/tools/bridge_tools.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type {
  CallableTool,
  CustomTool,
  FunctionTool,
  NamespaceTool,
  Tool,
  ToolChoice,
  ToolReference,
} from "../../canonical/tools/tool.ts";
import { otherFields, textOf } from "../fields.ts";
import { markOwn, withMarks } from "../marks.ts";
import {
  decodeToolSettings,
  decodeTypedTool,
  typedTool,
} from "./typed_tools.ts";

/**
 * Reads a list of tools.
 *
 * @param param Of the list, for error messages.
 * @throws {GatewayError} `invalid_request` for a tool without its type or name.
 */
export function decodeTools(
  tools: readonly JsonObject[],
  param: string,
): readonly Tool[] {
  return tools.map((tool, index) => decodeTool(tool, `${param}[${index}]`));
}

function decodeTool(tool: JsonObject, param: string): Tool {
  const { type } = tool;
  if (typeof type !== "string") {
    throw invalidField(`${param}.type`, "is missing");
  }
  if (type === "namespace") return decodeNamespace(tool, param);
  return decodeCallable(tool, param) ?? decodeTypedTool(tool) ??
    { kind: "hosted", protocol: "responses", type, value: tool };
}

/** A function or custom tool; `undefined` for every other. */
function decodeCallable(
  tool: JsonObject,
  param: string,
): CallableTool | undefined {
  switch (tool.type) {
    case "function":
      return decodeFunction(tool, param);
    case "custom":
      return decodeCustom(tool, param);
    default:
      return undefined;
  }
}

const FUNCTION_FIELDS = ["type", "name", "description", "parameters", "strict"];

function decodeFunction(tool: JsonObject, param: string): FunctionTool {
  const { description, parameters, strict } = tool;
  return {
    kind: "function",
    name: nameIn(tool, param),
    description: textOf(description),
    parameters: isJsonObject(parameters) ? parameters : undefined,
    strict: typeof strict === "boolean" ? strict : undefined,
    settings: decodeToolSettings(tool),
    marks: markRest(tool, FUNCTION_FIELDS),
  };
}

const CUSTOM_FIELDS = ["type", "name", "description", "format"];

function decodeCustom(tool: JsonObject, param: string): CustomTool {
  const { format } = tool;
  const hasGrammar = isJsonObject(format) && format.type === "grammar";
  return {
    kind: "custom",
    name: nameIn(tool, param),
    description: textOf(tool.description),
    grammar: hasGrammar
      ? {
        syntax: textOf(format.syntax) ?? "",
        definition: textOf(format.definition) ?? "",
      }
      : undefined,
    settings: decodeToolSettings(tool),
    marks: markRest(tool, CUSTOM_FIELDS),
  };
}

/** Tools inside that are neither functions nor custom tools stay with the namespace, for this codec alone. */
function decodeNamespace(tool: JsonObject, param: string): NamespaceTool {
  const inner = Array.isArray(tool.tools)
    ? tool.tools.filter(isJsonObject)
    : [];
  const others = inner.filter(({ type }) =>
    type !== "function" && type !== "custom"
  );
  return {
    kind: "namespace",
    name: nameIn(tool, param),
    description: textOf(tool.description),
    tools: inner.map((one, index) =>
      decodeCallable(one, `${param}.tools[${index}]`)
    ).filter((one) => one !== undefined),
    marks: others.length === 0 ? undefined : markOwn({ others }),
  };
}

function nameIn({ name }: JsonObject, param: string): string {
  if (typeof name !== "string" || name === "") {
    throw invalidField(`${param}.name`, "is missing");
  }
  return name;
}

function markRest(
  tool: JsonObject,
  known: readonly string[],
): CallableTool["marks"] {
  const rest = otherFields(tool, known);
  return markOwn(rest === undefined ? undefined : { tool: rest });
}

/**
 * Adds tools that an item of the input brings to those of the request. The item itself tells this codec's own
 * upstreams of them; the mark keeps them from being told twice. A tool that is there already counts once.
 */
export function addLoaded(
  tools: readonly Tool[],
  loaded: readonly Tool[],
): readonly Tool[] {
  const known = new Set(tools.map(keyOf));
  const fresh = loaded.filter((tool) => tool.kind !== "hosted").filter((tool) =>
    !known.has(toolKey(tool))
  );
  return [
    ...tools,
    ...fresh.map((tool): Tool => ({ ...tool, marks: markLoaded(tool) })),
  ];
}

function keyOf(tool: Tool): string {
  return tool.kind === "hosted" ? tool.type : toolKey(tool);
}

function markLoaded(tool: CallableTool | NamespaceTool): CallableTool["marks"] {
  return withMarks(tool, { isLoaded: true });
}

/**
 * Reads `tool_choice`.
 *
 * @throws {GatewayError} `invalid_request` for an unknown word.
 */
export function decodeToolChoice(
  choice: string | JsonObject | undefined,
): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") return decodeChoiceWord(choice);
  if (choice.type === "allowed_tools") return decodeAllowed(choice);
  const tool = decodeReference(choice);
  if (tool !== undefined) return { type: "tool", tool };
  return { type: "hosted", protocol: "responses", value: choice };
}

function decodeChoiceWord(word: string): ToolChoice {
  if (word === "auto" || word === "none" || word === "required") {
    return { type: word };
  }
  throw invalidField("tool_choice", "is none of none, auto, required");
}

/** A list that names a tool of the upstream's own has no neutral meaning. */
function decodeAllowed(choice: JsonObject): ToolChoice {
  const listed = Array.isArray(choice.tools) ? choice.tools : [];
  const tools = listed.map(decodeReference).filter((tool) =>
    tool !== undefined
  );
  if (tools.length < listed.length) {
    return { type: "hosted", protocol: "responses", value: choice };
  }
  return {
    type: "allowed",
    mode: choice.mode === "required" ? "required" : "auto",
    tools,
  };
}

function decodeReference(
  value: JsonValue | undefined,
): ToolReference | undefined {
  if (!isJsonObject(value) || typeof value.type !== "string") return undefined;
  const { type, name, namespace } = value;
  if (typedTool(type) !== undefined) return { kind: "function", name: type };
  if (type !== "function" && type !== "custom") return undefined;
  if (typeof name !== "string") return undefined;
  return { kind: type, name, namespace: textOf(namespace) };
}
