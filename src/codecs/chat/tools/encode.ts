import { type JsonObject, present } from "@gateway/base/json";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import {
  fitFunction,
  type SchemaScope,
} from "../../canonical/schema/fit_schemas.ts";
import { fitChoice } from "../../canonical/tools/fit_choice.ts";
import {
  type CallableTool,
  type FunctionTool,
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
  schemas: SchemaScope,
  scope: Scope,
): Tooling {
  const { dialect, context } = scope;
  const fitted = fitChoice(request, dialect.choice, context);
  const { tools, choice, isForced, nudge } = fitted;
  if (tools.length === 0) return { fields: {}, isForced };
  return {
    fields: {
      tools: sameStrictness(tools, scope)
        .map((tool) => encodeTool(tool, schemas, scope)),
      ...(choice === undefined ? {} : { tool_choice: encodeChoice(choice) }),
      ...encodeParallel(request.parallelTools, context),
    },
    isForced,
    nudge,
  };
}

/** Removes `strict` from the tools, if only some of them have it and the provider accepts it only on all of them. */
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
  return dialect.marksTools ? encodeCache(cache, dialect.cache) : {};
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
