import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import {
  encodeHostedTool,
  loseForceOnNothing,
  loseForeignChoice,
} from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import {
  allowedTools,
  type FunctionTool,
  isForce,
  nudgeForTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import type { Scope } from "../dialect.ts";
import { enforceableSchema, resolve } from "./enforceable_schema.ts";
import { typedToolOf } from "./decode.ts";

/** How a request's tools and the choice among them are written. */
export interface Tooling {
  /** `tools` and `tool_choice`; the latter only beside tools, as upstreams demand. */
  readonly fields: JsonObject;
  /** Whether the model must call a tool. */
  readonly isForced: boolean;
  /** What the model is told in place of a force that it refuses. */
  readonly nudge?: string | undefined;
}

/** Writes the tools, and the choice as far as the model allows it. */
export function encodeTooling(
  request: CanonicalRequest,
  scope: Scope,
): Tooling {
  const choice = request.toolChoice;
  const tools = allowedTools(request.tools, choice)
    .map((tool) => encodeTool(tool, scope))
    .filter((tool) => tool !== undefined);
  loseForeignChoice(choice, "messages", scope.context);
  if (tools.length === 0) {
    loseForceOnNothing(choice, scope.context);
    return { fields: {}, isForced: false };
  }
  const wanted = isForce(choice);
  const isRefused = wanted && scope.dialect.forcedTools === "never";
  if (isRefused) loseForce(scope);
  const made: ToolChoice | undefined = isRefused ? { type: "auto" } : choice;
  return {
    fields: { tools, ...encodeChoice(made, request.parallelTools) },
    isForced: wanted && !isRefused,
    nudge: isRefused ? nudgeForTool(choice) : undefined,
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
        "Cannot write custom tools and namespaces: bridgeTools must run before",
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

/** Strictness that the schema or the model does not allow would be refused; the tool works without. */
function encodeSchema(tool: FunctionTool, scope: Scope): JsonObject {
  const schema = inputSchema(tool.parameters);
  if (tool.strict !== true) return { input_schema: schema };
  const enforceable = scope.dialect.schemas
    ? enforceableSchema(schema)
    : undefined;
  if (enforceable !== undefined) {
    return { input_schema: enforceable, strict: true };
  }
  scope.context.reportDropped({
    field: "toolStrictness",
    weight: "report",
    reason: "this model's provider cannot hold arguments to such a schema",
  });
  return { input_schema: schema };
}

function loseForce({ context }: Scope): void {
  context.reportDropped({
    field: "toolChoice",
    weight: "report",
    reason: "this model cannot be forced to call a tool; it is told to instead",
  });
}

/** The switch for parallel calls stands inside the choice, and not beside `none`. */
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

/**
 * The schema of a tool's input. Upstreams demand an object at its root and no choice between objects there:
 * such a choice becomes one object with the properties of all, of which those are required that all require.
 */
export function inputSchema(parameters: JsonObject | undefined): JsonObject {
  if (parameters === undefined) return { type: "object", properties: {} };
  const root = resolveRoot(parameters);
  const { anyOf, oneOf, allOf, ...rest } = root;
  const choices = [anyOf, oneOf].flatMap(schemasIn);
  const parts = schemasIn(allOf);
  if (choices.length === 0 && parts.length === 0) {
    return { ...rest, type: "object" };
  }
  const members = [rest, ...parts, ...choices];
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...members.map(propertiesOf)),
    required: [
      ...new Set([
        ...[rest, ...parts].flatMap(requiredOf),
        ...requiredByAll(choices),
      ]),
    ],
  };
}

/** The root itself, where it only refers to a definition inside. */
function resolveRoot(schema: JsonObject): JsonObject {
  if (typeof schema.$ref !== "string") return schema;
  const { $ref: _reference, ...rest } = schema;
  const target = resolve(schema.$ref, schema);
  return target === undefined || target.$ref !== undefined
    ? rest
    : { ...rest, ...target };
}

function schemasIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

function requiredOf({ required }: JsonObject): JsonValue[] {
  return Array.isArray(required) ? required : [];
}

function requiredByAll(schemas: readonly JsonObject[]): JsonValue[] {
  const [first, ...others] = schemas.map(requiredOf);
  return (first ?? []).filter((name) =>
    others.every((names) => names.includes(name))
  );
}
