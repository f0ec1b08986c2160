import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type {
  CallableTool,
  CustomTool,
  FunctionTool,
  HostedTool,
  NamespaceTool,
  Tool,
  ToolChoice,
  ToolReference,
} from "../../canonical/tools/tool.ts";
import { otherFields, ownMetadata, textOf, withMetadata } from "../fields.ts";
import {
  decodeToolSettings,
  decodeTypedTool,
  typedTool,
} from "./typed_tools.ts";

/** Parses the tools at `param`. Throws `invalid_request` for a tool without its type or name. */
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
    hostedTool(type, tool);
}

function hostedTool(type: string, value: JsonObject): HostedTool {
  return { kind: "hosted", protocol: "responses", type, value };
}

/** Parses a function or custom tool. Returns `undefined` for other tools. */
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
  const { description, strict } = tool;
  const given = isJsonObject(tool.parameters) ? tool.parameters : undefined;
  const parameters = given && plainParameters(given);
  const decoded: FunctionTool = {
    kind: "function",
    name: nameIn(tool, param),
    description: textOf(description),
    parameters,
    strict: typeof strict === "boolean" ? strict : undefined,
    settings: decodeToolSettings(tool),
    providerMetadata: otherMetadata(tool, FUNCTION_FIELDS),
  };
  return given === undefined || given === parameters ? decoded : {
    ...decoded,
    providerMetadata: withMetadata(decoded, { parameters: given }),
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
    providerMetadata: otherMetadata(tool, CUSTOM_FIELDS),
  };
}

function decodeNamespace(tool: JsonObject, param: string): NamespaceTool {
  const inner = Array.isArray(tool.tools)
    ? tool.tools.filter(isJsonObject)
    : [];
  const hosted = inner.filter(({ type }) =>
    type !== "function" && type !== "custom"
  ).map((one) => hostedTool(textOf(one.type) ?? "", one));
  return {
    kind: "namespace",
    name: nameIn(tool, param),
    description: textOf(tool.description),
    tools: inner.map((one, index) =>
      decodeCallable(one, `${param}.tools[${index}]`)
    ).filter((one) => one !== undefined),
    hosted,
  };
}

function nameIn({ name }: JsonObject, param: string): string {
  if (typeof name !== "string" || name === "") {
    throw invalidField(`${param}.name`, "is missing");
  }
  return name;
}

function otherMetadata(
  tool: JsonObject,
  known: readonly string[],
): CallableTool["providerMetadata"] {
  const rest = otherFields(tool, known);
  return ownMetadata(rest === undefined ? undefined : { tool: rest });
}

/** Parses `tool_choice`; throws `invalid_request` for an unknown word. */
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
  throw invalidField("tool_choice", "must be none, auto or required");
}

/** Parses a list of allowed tools. Other protocols cannot express a list with a hosted tool. */
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

/**
 * Removes the keyword `encrypted`. It makes OpenAI's models encrypt an argument. No other protocol has this keyword.
 * Models that cannot encrypt reject it: "declares encrypted parameters, but the selected model is not configured".
 *
 * Sources: https://github.com/openai/codex/pull/26210, https://github.com/decolua/9router/issues/1758
 *
 * @returns The unchanged schema if the keyword does not occur.
 */
function plainParameters(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const entries = Object.entries(properties);
  if (!entries.some(([, property]) => isEncrypted(property))) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(entries.map(([name, property]) => {
      if (!isEncrypted(property)) return [name, property];
      const { encrypted: _keyword, ...rest } = property;
      return [name, rest];
    })),
  };
}

function isEncrypted(property: unknown): property is JsonObject {
  return isJsonObject(property) && property.encrypted === true;
}
