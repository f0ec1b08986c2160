import type { JsonObject } from "@gateway/base/json";
import {
  dropForce,
  dropForceOnNothing,
  dropForeignChoice,
  encodeHostedTool,
} from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { enforceableSchema } from "../../canonical/schema/enforceable_schema.ts";
import { rootObject } from "../../canonical/schema/root_object.ts";
import { fitSchema } from "../../canonical/schema/schema_subset.ts";
import {
  allowedTools,
  type FunctionTool,
  isForce,
  nudgeForTool,
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
  const choice = request.toolChoice;
  const tools = allowedTools(request.tools, choice)
    .map((tool) => encodeTool(tool, scope))
    .filter((tool) => tool !== undefined);
  dropForeignChoice(choice, "messages", scope.context);
  if (tools.length === 0) {
    dropForceOnNothing(choice, scope.context);
    return { fields: {}, isForced: false };
  }
  const wanted = isForce(choice);
  const isRejected = wanted && !scope.dialect.forcedCalls;
  if (isRejected) dropForce(scope.context);
  const chosen: ToolChoice | undefined = isRejected ? { type: "auto" } : choice;
  return {
    fields: { tools, ...encodeChoice(chosen, request.parallelTools) },
    isForced: wanted && !isRejected,
    nudge: isRejected ? nudgeForTool(choice) : undefined,
  };
}

function encodeTool(tool: Tool, scope: Scope): JsonObject | undefined {
  switch (tool.kind) {
    case "function":
      return encodeFunction(tool, scope);
    case "hosted":
      return encodeHostedTool(tool, "messages", scope.context);
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
    case "allowed":
      return { type: choice.mode === "required" ? "any" : "auto" };
    case "hosted":
      return choice.protocol === "messages" ? choice.value : { type: "auto" };
    default:
      return { type: choice.type };
  }
}

function namedChoice({ name }: ToolReference): JsonObject {
  return { type: "tool", name };
}
