import { type JsonObject, present } from "../../../core/json.ts";
import {
  encodeHostedTool,
  loseForceOnNothing,
  loseForeignChoice,
  type Loss,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  WebSearch,
} from "../../canonical/request/request.ts";
import {
  isClosedSchema,
  objectSchema,
} from "../../canonical/request/schema.ts";
import {
  allowedTools,
  type CallableTool,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "../../canonical/tools/tool.ts";
import { movePatterns } from "../../canonical/request/schema_patterns.ts";
import type { Scope } from "../dialect.ts";
import { isNoted, notedObject } from "../fields.ts";
import { encodeTypedTool } from "./typed_tools.ts";

/** How a tool is fitted to the upstream. */
export interface ToolFit {
  /** Takes what cannot be carried. */
  reportDropped(loss: Loss): void;
  /** The schema of arguments as the upstream takes it. */
  schema(schema: JsonObject): JsonObject;
}

/** `tools`, `tool_choice` and `parallel_tool_calls`; the latter two only beside tools, as upstreams demand. */
export function encodeTooling(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { toolChoice, parallelTools } = request;
  const fit: ToolFit = {
    reportDropped: (loss) => context.reportDropped(loss),
    schema: (schema) => fitSchema(schema, { dialect, context }),
  };
  const { tools: offered, choice } = dialect.fullToolset
    ? { tools: request.tools, choice: toolChoice }
    : withoutList(request);
  const tools = [
    ...offered.filter((tool) => !isLoaded(tool))
      .map((tool) => encodeTool(tool, fit)),
    encodeWebSearch(request.webSearch, { dialect, context }),
  ].filter((tool) => tool !== undefined);
  loseForeignChoice(choice, "responses", context);
  const hasTools = tools.length > 0 || offered.some(isLoaded);
  if (!hasTools) loseForceOnNothing(choice, context);
  return present({
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: hasTools ? encodeToolChoice(choice, offered) : undefined,
    parallel_tool_calls: hasTools ? parallelTools : undefined,
  });
}

/** A schema as the provider takes it. */
export function fitSchema(
  schema: JsonObject,
  { dialect, context }: Scope,
): JsonObject {
  return dialect.compilesPatterns ? movePatterns(schema, context) : schema;
}

/** The search that Chat Completions has as a setting is a tool here. */
function encodeWebSearch(
  search: WebSearch | undefined,
  { dialect, context }: Scope,
): JsonObject | undefined {
  if (search === undefined) return undefined;
  if (!dialect.hostedTools) {
    context.reportDropped({
      field: "webSearch",
      weight: "reject",
      reason: "this model's provider does not search the web",
    });
    return undefined;
  }
  const { contextSize, location } = search;
  return {
    type: "web_search",
    ...present({ search_context_size: contextSize }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", ...location } }),
  };
}

/** Where the provider has no list of allowed tools, the others are left out. */
function withoutList(
  { tools, toolChoice: choice }: CanonicalRequest,
): {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice | undefined;
} {
  if (choice?.type !== "allowed") return { tools, choice };
  return {
    tools: allowedTools(tools, choice),
    choice: { type: choice.mode },
  };
}

/** Whether an item of the input brings the tool. */
export function isLoaded(tool: Tool): boolean {
  return isNoted(tool, "isLoaded");
}

/** Writes one tool; `undefined` for one of another protocol's upstreams. */
export function encodeTool(tool: Tool, fit: ToolFit): JsonObject | undefined {
  switch (tool.kind) {
    case "function":
    case "custom":
      return encodeCallable(tool, fit);
    case "namespace":
      return encodeNamespace(tool, fit);
    case "hosted":
      return encodeHostedTool(tool, "responses", fit);
  }
}

function encodeCallable(tool: CallableTool, fit: ToolFit): JsonObject {
  return tool.kind === "function"
    ? encodeTypedTool(tool) ?? encodeFunction(tool, fit)
    : encodeCustom(tool);
}

/** A tool whose strictness is not written counts as strict, so that it is written always. */
function encodeFunction(tool: FunctionTool, fit: ToolFit): JsonObject {
  const { name, description } = tool;
  const parameters = notedObject(tool, "parameters") ?? tool.parameters;
  return {
    type: "function",
    name,
    ...present({ description }),
    parameters: fit.schema(objectSchema(parameters)),
    strict: strictness(tool, fit),
    ...restOfTool(tool),
  };
}

/** Strictness that the schema does not fit would be refused; the tool works without. */
function strictness(
  { strict, parameters }: FunctionTool,
  fit: ToolFit,
): boolean {
  if (strict !== true || isClosedSchema(parameters)) return strict ?? false;
  fit.reportDropped({
    field: "toolStrictness",
    weight: "report",
    reason:
      "strict arguments need a schema whose objects are closed and require every property",
  });
  return false;
}

function encodeCustom(tool: CustomTool): JsonObject {
  const { name, description, grammar } = tool;
  return {
    type: "custom",
    name,
    ...present({ description }),
    ...(grammar === undefined
      ? {}
      : { format: { type: "grammar", ...grammar } }),
    ...restOfTool(tool),
  };
}

function encodeNamespace(tool: NamespaceTool, fit: ToolFit): JsonObject {
  const { name, description, tools, hosted } = tool;
  return {
    type: "namespace",
    name,
    description: description ?? "",
    tools: [
      ...tools.filter((one) => !isLoaded(one))
        .map((one) => encodeCallable(one, fit)),
      ...(hosted ?? []).filter((one) => !isLoaded(one))
        .map(({ value }) => value),
    ],
  };
}

function restOfTool(tool: CallableTool): JsonObject {
  return notedObject(tool, "tool") ?? {};
}

/** Writes `tool_choice`; `undefined` for none, and for a choice that only another protocol can spell. */
export function encodeToolChoice(
  choice: ToolChoice | undefined,
  tools: readonly Tool[],
): string | JsonObject | undefined {
  if (choice === undefined) return undefined;
  const typed = typedNames(tools);
  switch (choice.type) {
    case "tool":
      return encodeReference(choice.tool, typed);
    case "allowed":
      return {
        type: "allowed_tools",
        mode: choice.mode,
        tools: choice.tools.map((tool) => encodeReference(tool, typed)),
      };
    case "hosted":
      return choice.protocol === "responses" ? choice.value : undefined;
    default:
      return choice.type;
  }
}

/** The names of the functions that are tools of a type of their own here. */
function typedNames(tools: readonly Tool[]): ReadonlySet<string> {
  const typed = tools.filter((tool) => tool.kind === "function")
    .filter((tool) => encodeTypedTool(tool) !== undefined);
  return new Set(typed.map(({ name }) => name));
}

function encodeReference(
  { kind, name, namespace }: ToolReference,
  typed: ReadonlySet<string>,
): JsonObject {
  return typed.has(name)
    ? { type: name }
    : { type: kind, name, ...present({ namespace }) };
}
