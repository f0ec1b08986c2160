import type { JsonObject } from "@gateway/base/json";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { fitFunction } from "../../canonical/schema/fit_schemas.ts";
import { fitChoice } from "../../canonical/tools/fit_choice.ts";
import {
  type FunctionTool,
  type Tool,
  type ToolChoice,
  type Tooling,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import type { Scope } from "../dialect.ts";
import { typedToolOf } from "./decode.ts";

/** Encodes the tools, and the choice as far as the model allows it. */
export function encodeTooling(
  request: CanonicalRequest,
  scope: Scope,
): Tooling {
  const { tools, choice, isForced, nudge } = fitChoice(request, {
    protocol: "messages",
    allowedList: false,
    force: scope.dialect.forcedCalls ? "named" : "never",
    forbid: true,
    webSearch: false,
  }, scope.context);
  if (tools.length === 0) return { fields: {}, isForced };
  return {
    fields: {
      tools: tools.map((tool) => encodeTool(tool, scope)),
      ...encodeChoice(choice, request.parallelTools),
    },
    isForced,
    nudge,
  };
}

function encodeTool(tool: Tool, scope: Scope): JsonObject {
  switch (tool.kind) {
    case "function":
      return encodeFunction(tool, scope);
    case "hosted":
      return tool.value;
    default:
      throw new TypeError(
        "Cannot write custom tools and namespaces: bridgeTools did not run. Run it before the encoder.",
      );
  }
}

function encodeFunction(tool: FunctionTool, scope: Scope): JsonObject {
  const { name, description } = tool;
  const providerMetadata = tool.providerMetadata?.messages ?? {};
  const cache = scope.cache.write(tool.cache);
  if (
    typeof providerMetadata.type === "string" &&
    typedToolOf(providerMetadata.type) !== undefined
  ) {
    return { ...providerMetadata, name, ...cache };
  }
  const { schema, strict } = fitFunction(tool, scope.schemas);
  return {
    ...providerMetadata,
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: schema,
    ...(strict === true ? { strict } : {}),
    ...cache,
  };
}

/** Returns the choice, which holds the switch for parallel calls. `none` rejects the switch. */
function encodeChoice(
  choice: ToolChoice | undefined,
  parallelTools: boolean | undefined,
): JsonObject {
  if (choice === undefined && parallelTools !== false) return {};
  const wire = choice === undefined ? { type: "auto" } : wireChoice(choice);
  const flag = parallelTools === undefined || wire.type === "none"
    ? {}
    : { disable_parallel_tool_use: !parallelTools };
  return { tool_choice: { ...wire, ...flag } };
}

function wireChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case "required":
      return { type: "any" };
    case "tool":
      return namedChoice(choice.tool);
    case "hosted":
      return choice.value;
    default:
      return { type: choice.type };
  }
}

function namedChoice({ name }: ToolReference): JsonObject {
  return { type: "tool", name };
}
