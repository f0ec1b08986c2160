import type { JsonObject } from "../../core/json.ts";
import {
  encodeHostedTool,
  loseForeignChoice,
} from "../canonical/hosted_tool.ts";
import type { CanonicalRequest } from "../canonical/request.ts";
import { isClosedSchema, objectSchema } from "../canonical/schema.ts";
import {
  allowedTools,
  type CallableTool,
  type FunctionTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "../canonical/tool.ts";
import { encodeCache } from "./cache.ts";
import type { Scope } from "./dialect.ts";

/** `tools`, `tool_choice` and `parallel_tool_calls`; the latter two only beside tools, as upstreams demand. */
export function encodeTooling(
  request: CanonicalRequest,
  scope: Scope,
): JsonObject {
  const choice = request.toolChoice;
  // Where the provider has no list of allowed tools, the others are left out.
  const offered = scope.dialect.fullToolset
    ? request.tools
    : allowedTools(request.tools, choice);
  const tools = offered
    .map((tool) => encodeTool(tool, scope))
    .filter((tool) => tool !== undefined);
  loseForeignChoice(choice, "chat", scope.context);
  if (tools.length === 0) return {};
  return {
    tools,
    ...(choice === undefined ? {} : encodeChoice(choice, scope)),
    ...(request.parallelTools === undefined
      ? {}
      : { parallel_tool_calls: request.parallelTools }),
  };
}

function encodeTool(tool: Tool, scope: Scope): JsonObject | undefined {
  switch (tool.kind) {
    case "function":
      return encodeFunction(tool, scope);
    case "custom":
      return encodeCustom(tool, scope);
    case "hosted":
      return encodeHostedTool(tool, "chat", scope.context);
    case "namespace":
      throw new TypeError(
        "Cannot write a namespace of tools: bridgeTools must run before",
      );
  }
}

function encodeFunction(tool: FunctionTool, scope: Scope): JsonObject {
  return {
    type: "function",
    function: {
      name: tool.name,
      ...describe(tool),
      parameters: objectSchema(tool.parameters),
      ...encodeStrict(tool, scope),
    },
    ...encodeCache(tool.cache, scope.dialect.cache),
  };
}

/** Strictness that the schema does not fit would be refused; the tool works without. */
function encodeStrict(
  tool: FunctionTool,
  { dialect, context }: Scope,
): JsonObject {
  if (tool.strict === undefined) return {};
  if (!tool.strict || !dialect.fullToolset || isClosedSchema(tool.parameters)) {
    return { strict: tool.strict };
  }
  context.lose({
    field: "tools",
    weight: "hint",
    reason:
      "strict arguments need a schema whose objects are closed and require every property",
  });
  return {};
}

function encodeCustom(
  tool: Exclude<CallableTool, FunctionTool>,
  { dialect }: Scope,
): JsonObject {
  const { name, grammar } = tool;
  const format = grammar === undefined
    ? { type: "text" }
    : { type: "grammar", grammar: { ...grammar } };
  return {
    type: "custom",
    custom: { name, ...describe(tool), format },
    ...encodeCache(tool.cache, dialect.cache),
  };
}

function describe({ description }: CallableTool): JsonObject {
  return description === undefined ? {} : { description };
}

function encodeChoice(choice: ToolChoice, { dialect }: Scope): JsonObject {
  switch (choice.type) {
    case "tool":
      return { tool_choice: encodeReference(choice.tool) };
    case "allowed":
      return {
        tool_choice: dialect.fullToolset
          ? {
            type: "allowed_tools",
            allowed_tools: {
              mode: choice.mode,
              tools: choice.tools.map(encodeReference),
            },
          }
          : choice.mode,
      };
    case "hosted":
      return choice.protocol === "chat" ? { tool_choice: choice.value } : {};
    default:
      return { tool_choice: choice.type };
  }
}

function encodeReference({ kind, name }: ToolReference): JsonObject {
  return { type: kind, [kind]: { name } };
}
