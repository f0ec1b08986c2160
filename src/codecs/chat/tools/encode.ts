import { type JsonObject, present } from "@gateway/base/json";
import {
  dropForce,
  dropForceOnNothing,
  dropForeignChoice,
  encodeHostedTool,
} from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { keptStrict } from "../../canonical/schema/object_schema.ts";
import { fitArguments } from "../../canonical/schema/schema_subset.ts";
import {
  allowedTools,
  type CallableTool,
  type FunctionTool,
  isForce,
  nudgeForTool,
  type Tool,
  type ToolChoice,
  type Tooling,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import { encodeParallel } from "../../dialects/openai_models.ts";
import { encodeCache, type Scope } from "../dialect.ts";

/** Encodes the tools, and the choice as far as the model allows it. */
export function encodeTooling(
  request: CanonicalRequest,
  scope: Scope,
): Tooling {
  const { choice, offered, nudge } = fitChoice(request, scope);
  const tools = sameStrictness(offered, scope)
    .map((tool) => encodeTool(tool, scope))
    .filter((tool) => tool !== undefined);
  dropForeignChoice(request.toolChoice, "chat", scope.context);
  if (tools.length === 0) {
    dropForceOnNothing(request.toolChoice, scope.context);
    return { fields: {}, isForced: false };
  }
  return {
    fields: {
      tools,
      ...(choice === undefined ? {} : encodeChoice(choice, scope)),
      ...encodeParallel(request.parallelTools, scope.context),
    },
    isForced: isForce(choice),
    nudge,
  };
}

/** The choice that the model accepts, and the tools that remain. */
interface FittedChoice {
  readonly choice: ToolChoice | undefined;
  readonly offered: readonly Tool[];
  readonly nudge?: string | undefined;
}

function fitChoice(
  { tools, toolChoice: choice }: CanonicalRequest,
  scope: Scope,
): FittedChoice {
  const { fullToolset, thinking, namedChoice } = scope.dialect;
  // A provider without `allowed_tools` receives only the allowed tools.
  const offered = fullToolset ? tools : allowedTools(tools, choice);
  if (!namedChoice) return onlyNamed(choice, offered);
  if (thinking === undefined) return { choice, offered };
  if (choice?.type === "none" && !thinking.forbidsTools) {
    return { choice: undefined, offered: [] };
  }
  if (!isForce(choice)) return { choice, offered };
  switch (thinking.forcedTools) {
    case "any_tool":
      return onlyNamed(choice, offered);
    case "never":
      dropForce(scope.context);
      return { choice: { type: "auto" }, offered, nudge: nudgeForTool(choice) };
    default:
      return { choice, offered };
  }
}

/** Offers only the named tool, so that a model that must call any tool calls this one. */
function onlyNamed(
  choice: ToolChoice | undefined,
  offered: readonly Tool[],
): FittedChoice {
  if (choice?.type !== "tool") return { choice, offered };
  const { name } = choice.tool;
  return {
    choice: { type: "required" },
    offered: offered.filter((tool) =>
      tool.kind !== "hosted" && tool.name === name
    ),
  };
}

/** Removes `strict` when only some tools have it and the provider accepts it only on all. */
function sameStrictness(
  tools: readonly Tool[],
  { dialect, context }: Scope,
): readonly Tool[] {
  if (dialect.mixedStrict) return tools;
  const strict = tools.filter((tool) =>
    tool.kind === "function" && tool.strict === true
  );
  if (strict.length === tools.length) return tools;
  if (strict.length > 0) {
    context.reportDropped(
      "toolStrictness",
      "this model's provider accepts strict tools only where all are strict",
    );
  }
  return tools.map((tool) =>
    tool.kind === "function" ? { ...tool, strict: undefined } : tool
  );
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
        "Cannot write a namespace of tools: bridgeTools did not run. Run it before the encoder.",
      );
  }
}

function encodeFunction(tool: FunctionTool, scope: Scope): JsonObject {
  const { dialect, context } = scope;
  const parameters = fitArguments(tool.parameters, dialect.subset, context);
  const strict = dialect.fullToolset
    ? keptStrict(tool.strict, parameters, context)
    : tool.strict;
  return {
    type: "function",
    function: {
      name: tool.name,
      ...describe(tool),
      parameters,
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
  return dialect.marksTools ? encodeCache(cache, dialect.cache) : {};
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
