import { type JsonObject, present } from "@gateway/base/json";
import type { FittedRequest } from "../../canonical/request/fit.ts";
import { fitFunction } from "../../canonical/schema/fit_schemas.ts";
import {
  type CallableTool,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
  type ToolReference,
  type WebSearch,
} from "../../canonical/tools/tool.ts";
import type { Scope } from "../dialect.ts";
import { hasFlag, metadataObject } from "../fields.ts";
import { encodeTypedTool } from "./typed_tools.ts";
import { encodeSearch, OWN_SEARCH } from "./web_search.ts";
import { isReplacedSearch } from "../../canonical/tools/fit_tools.ts";

/** Fits a function to the provider. */
export type FitFunction = (
  tool: FunctionTool,
) => ReturnType<typeof fitFunction>;

/**
 * Encodes `tools`, `tool_choice` and `parallel_tool_calls`. Without tools, leaves out the other two, because providers
 * reject them.
 */
export function encodeTooling(
  { tooling, schemas }: Pick<FittedRequest, "tooling" | "schemas">,
  search: WebSearch | undefined,
  { dialect, context }: Scope,
): JsonObject {
  const fitted: FitFunction = (tool) => fitFunction(tool, schemas);
  const tools = [
    ...tooling.tools.filter((tool) => !isLoaded(tool))
      .map((tool) =>
        isReplacedSearch(tool, dialect.ability)
          ? encodeSearch(tool.webSearch, { context })
          : encodeTool(tool, fitted)
      ),
    search && encodeSearch(search, { context }),
  ].filter((tool) => tool !== undefined);
  const hasTools = tools.length > 0 || tooling.tools.some(isLoaded);
  return present({
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: hasTools
      ? encodeToolChoice(tooling.choice, tooling.tools)
      : undefined,
    parallel_tool_calls: hasTools ? tooling.parallel : undefined,
  });
}

/** Returns true when an item of the input contains the tool. */
export function isLoaded(tool: Tool): boolean {
  return hasFlag(tool, "isLoaded");
}

/** Returns one tool, or `undefined` for a hosted tool of another protocol. */
export function encodeTool(
  tool: Tool,
  fit: FitFunction,
): JsonObject | undefined {
  switch (tool.kind) {
    case "function":
    case "custom":
      return encodeCallable(tool, fit);
    case "namespace":
      return encodeNamespace(tool, fit);
    case "hosted":
      return tool.protocol === "responses" ? tool.value : undefined;
  }
}

function encodeCallable(tool: CallableTool, fit: FitFunction): JsonObject {
  return tool.kind === "function"
    ? encodeTypedTool(tool) ?? encodeFunction(tool, fit)
    : encodeCustom(tool);
}

/** Encodes a function. `strict` is always written, because a function without `strict` counts as strict. */
function encodeFunction(tool: FunctionTool, fit: FitFunction): JsonObject {
  const { name, description } = tool;
  const parameters = metadataObject(tool, "parameters") ?? tool.parameters;
  const { schema, strict } = fit({ ...tool, parameters });
  return {
    type: "function",
    name,
    ...present({ description }),
    parameters: schema,
    strict: strict ?? false,
    ...restOfTool(tool),
  };
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

function encodeNamespace(tool: NamespaceTool, fit: FitFunction): JsonObject {
  const { name, description, tools, hosted } = tool;
  return {
    type: "namespace",
    name,
    description: description || name,
    tools: [
      ...tools.filter((one) => !isLoaded(one))
        .map((one) => encodeCallable(one, fit)),
      ...(hosted ?? []).filter((one) => !isLoaded(one))
        .map(({ value }) => value),
    ],
  };
}

function restOfTool(tool: CallableTool): JsonObject {
  return metadataObject(tool, "tool") ?? {};
}

/** Returns the `tool_choice`. Returns `undefined` if there is no choice. */
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
      return choice.protocol === "responses" ? choice.value : OWN_SEARCH;
    default:
      return choice.type;
  }
}

/** Returns the names of the functions that are typed tools in this protocol. */
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
