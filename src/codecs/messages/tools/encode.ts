import type { JsonObject } from "@gateway/base/json";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { enforceableSchema } from "../../canonical/schema/enforceable_schema.ts";
import { rootObject } from "../../canonical/schema/root_object.ts";
import { fitSchema } from "../../canonical/schema/schema_subset.ts";
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
  return {
    ...providerMetadata,
    name,
    ...(description === undefined ? {} : { description }),
    ...encodeSchema(tool, scope),
    ...cache,
  };
}

/**
 * Returns the schema, with `strict` if it qualifies and fits the limits. Otherwise `strict` is dropped, because the
 * tool works without.
 */
function encodeSchema(tool: FunctionTool, scope: Scope): JsonObject {
  const { dialect, context, strict } = scope;
  const root = rootObject(tool.parameters);
  const schema = fitSchema(root, dialect.subset, context);
  if (tool.strict !== true) return { input_schema: schema };
  const enforceable = dialect.schemas ? enforceableSchema(root) : undefined;
  if (enforceable !== undefined && strict.takes(enforceable, "tool")) {
    return { input_schema: enforceable, strict: true };
  }
  context.reportDropped(
    "toolStrictness",
    enforceable === undefined
      ? "this model's provider cannot enforce this schema of arguments"
      : `this model's provider enforces no further tool beside the others: ${tool.name}`,
  );
  return { input_schema: schema };
}

/** Returns the choice, with the switch for parallel calls. `none` may not have the switch. */
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
