import type { JsonObject } from "../../../core/json.ts";
import { isJsonObject } from "../../../core/json.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import {
  type InnerSettings,
  innerSettings,
} from "../../canonical/request/extras.ts";
import type {
  FunctionTool,
  Tool,
  ToolChoice,
} from "../../canonical/tools/tool.ts";
import { decodeCache } from "../request/cache.ts";
import { demandName, marksOf, optionalText } from "../request/fields.ts";
import { typedToolOf } from "./typed_tools.ts";
import type { WireToolChoice } from "../wire.ts";

const FUNCTION_FIELDS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
]);
const TYPED_FIELDS: ReadonlySet<string> = new Set(["name", "cache_control"]);

/**
 * Reads `tools`. A tool with a type of its own that the caller runs, such as `bash_20250124`, becomes a
 * function; one that the upstream runs is hosted. Tools whose loading is deferred are tools like others.
 *
 * @throws {GatewayError} `invalid_request` naming the tool.
 */
export function decodeTools(tools: readonly JsonObject[]): readonly Tool[] {
  return tools.map((tool, index) => decodeTool(tool, `tools[${index}]`));
}

/**
 * Reads `tool_choice`.
 *
 * @param tools The tools among which it chooses.
 * @throws {GatewayError} `invalid_request` for an unknown type.
 */
export function decodeToolChoice(
  choice: WireToolChoice,
  tools: readonly JsonObject[],
): ToolChoice {
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "any":
      return { type: "required" };
    case "tool":
      return decodeNamed(
        demandName(choice.name, "tool_choice.name"),
        tools,
      );
    default:
      throw invalidField(
        "tool_choice.type",
        "is none of auto, any, tool, none",
      );
  }
}

function decodeTool(tool: JsonObject, param: string): Tool {
  const type = optionalText(tool.type) ?? "custom";
  if (isHosted(tool)) {
    return { kind: "hosted", protocol: "messages", type, value: tool };
  }
  const name = demandName(tool.name, `${param}.name`);
  const typed = typedToolOf(type, tool);
  if (typed !== undefined) {
    return {
      kind: "function",
      name,
      ...typed,
      cache: decodeCache(tool),
      settings: decodeSettings(tool),
      marks: marksOf(tool, TYPED_FIELDS),
    };
  }
  return decodeFunction(tool, name, param);
}

/** A type unknown here without a schema: nobody but the upstream can know what it is. */
function isHosted(tool: JsonObject): boolean {
  const type = optionalText(tool.type) ?? "custom";
  return type !== "custom" && typedToolOf(type) === undefined &&
    !isJsonObject(tool.input_schema);
}

function decodeFunction(
  tool: JsonObject,
  name: string,
  param: string,
): FunctionTool {
  if (!isJsonObject(tool.input_schema)) {
    throw invalidField(`${param}.input_schema`, "is missing");
  }
  return {
    kind: "function",
    name,
    description: optionalText(tool.description),
    parameters: tool.input_schema,
    strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    cache: decodeCache(tool),
    settings: decodeSettings(tool),
    marks: marksOf(tool, FUNCTION_FIELDS),
  };
}

/** When a tool is loaded and how its input is streamed changes nothing where all are loaded at once. */
function decodeSettings(tool: JsonObject): InnerSettings | undefined {
  const { input_examples: examples, allowed_callers: callers } = tool;
  return innerSettings("messages", {
    "tools.input_examples": Array.isArray(examples) && examples.length > 0,
    "tools.allowed_callers": Array.isArray(callers) &&
      callers.some((caller) => caller !== "direct"),
  });
}

function decodeNamed(name: string, tools: readonly JsonObject[]): ToolChoice {
  const tool = tools.find((one) => one.name === name);
  if (tool !== undefined && isHosted(tool)) {
    return {
      type: "hosted",
      protocol: "messages",
      value: { type: "tool", name },
    };
  }
  return { type: "tool", tool: { kind: "function", name } };
}
