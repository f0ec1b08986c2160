import { type JsonObject, present } from "@gateway/base/json";
import type { FittedRequest } from "../../canonical/request/fit.ts";
import {
  fitFunction,
  type SchemaScope,
} from "../../canonical/schema/fit_schemas.ts";
import {
  type CallableTool,
  type FunctionTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import { encodeCache, type Scope } from "../dialect.ts";

/**
 * Encodes the tools and the choice among them. Without tools, leaves out the choice, because providers would reject it.
 */
export function encodeTooling(
  { tooling: { tools, choice, parallel }, schemas }: Pick<
    FittedRequest,
    "tooling" | "schemas"
  >,
  scope: Scope,
): JsonObject {
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => encodeTool(tool, schemas, scope)),
    ...(choice === undefined ? {} : { tool_choice: encodeChoice(choice) }),
    ...present({ parallel_tool_calls: parallel }),
  };
}

function encodeTool(
  tool: Tool,
  schemas: SchemaScope,
  scope: Scope,
): JsonObject {
  switch (tool.kind) {
    case "function":
      return encodeFunction(tool, schemas, scope);
    case "custom":
      return encodeCustom(tool, scope);
    case "hosted":
      return tool.value;
    case "namespace":
      throw new TypeError(
        "Cannot write a namespace of tools: bridgeTools did not run. Run it before the encoder.",
      );
  }
}

function encodeFunction(
  tool: FunctionTool,
  schemas: SchemaScope,
  scope: Scope,
): JsonObject {
  const { schema, strict } = fitFunction(tool, schemas);
  return {
    type: "function",
    function: {
      name: tool.name,
      ...describe(tool),
      parameters: schema,
      ...present({ strict }),
    },
    ...markTool(tool, scope),
  };
}

function encodeCustom(
  tool: Exclude<CallableTool, FunctionTool>,
  scope: Scope,
): JsonObject {
  const { name, grammar } = tool;
  const format = grammar === undefined
    ? { type: "text" }
    : { type: "grammar", grammar: { ...grammar } };
  return {
    type: "custom",
    custom: { name, ...describe(tool), format },
    ...markTool(tool, scope),
  };
}

function markTool({ cache }: CallableTool, { dialect }: Scope): JsonObject {
  return dialect.ability.cacheMarks === "content_and_tools"
    ? encodeCache(cache, dialect)
    : {};
}

function describe({ description }: CallableTool): JsonObject {
  return description === undefined ? {} : { description };
}

function encodeChoice(choice: ToolChoice): JsonObject | string {
  switch (choice.type) {
    case "tool":
      return encodeReference(choice.tool);
    case "allowed":
      return {
        type: "allowed_tools",
        allowed_tools: {
          mode: choice.mode,
          tools: choice.tools.map(encodeReference),
        },
      };
    case "hosted":
      return choice.value;
    default:
      return choice.type;
  }
}

function encodeReference({ kind, name }: ToolReference): JsonObject {
  return { type: kind, [kind]: { name } };
}
