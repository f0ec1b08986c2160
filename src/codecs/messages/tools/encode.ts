import type { JsonObject } from "@gateway/base/json";
import type { FittedRequest } from "../../canonical/request/fit.ts";
import {
  fitFunction,
  type SchemaScope,
} from "../../canonical/schema/fit_schemas.ts";
import {
  type FunctionTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import type { Scope } from "../dialect.ts";
import { typedToolOf } from "./decode.ts";

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
    ...encodeChoice(choice, parallel),
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
    case "hosted":
      return tool.value;
    default:
      throw new TypeError(
        "Cannot write custom tools and namespaces: bridgeTools did not run. Run it before the encoder.",
      );
  }
}

function encodeFunction(
  tool: FunctionTool,
  schemas: SchemaScope,
  scope: Scope,
): JsonObject {
  const { name, description } = tool;
  const providerMetadata = tool.providerMetadata?.messages ?? {};
  const isMarked = scope.dialect.ability.cacheMarks === "content_and_tools";
  const cache = isMarked ? scope.cache.write(tool.cache) : {};
  if (
    typeof providerMetadata.type === "string" &&
    typedToolOf(providerMetadata.type) !== undefined
  ) {
    return { ...providerMetadata, name, ...cache };
  }
  const { schema, strict } = fitFunction(tool, schemas);
  return {
    ...providerMetadata,
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: schema,
    ...(strict === true ? { strict } : {}),
    ...cache,
  };
}

/**
 * Returns the choice among the tools, with the switch for parallel calls. Providers reject the switch beside `none`.
 */
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
