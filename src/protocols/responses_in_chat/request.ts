import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { CanonicalRequest } from "../canonical/request/request.ts";
import { responsesCodec } from "../responses/mod.ts";

/**
 * Reads a Responses request whose answer is to be in Chat Completions. What callers of this mixture spell as in Chat
 * is read as well: definitions of tools and choices that stand under the name of their type,
 * `stream_options.include_usage`, and calls of custom tools, which they know as calls of functions from the answer.
 *
 * @throws {GatewayError} `invalid_request` with `param`.
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const { stream_options, ...rest } = body;
  const tools = flattenEach(rest.tools);
  const request = responsesCodec.decodeRequest({
    ...rest,
    ...(tools !== undefined && { tools }),
    ...(rest.tool_choice !== undefined &&
      { tool_choice: flatten(rest.tool_choice) }),
    ...(rest.input !== undefined &&
      { input: restoreCustomCalls(rest.input, customNames(tools)) }),
  });
  return stream_options === undefined ? request : {
    ...request,
    extras: {
      ...request.extras,
      chat: { stream_options: { value: stream_options, weight: "silent" } },
    },
  };
}

function flattenEach(tools: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(tools) ? tools.map(flatten) : tools;
}

/** What Chat spells under the name of its type. No other tool is read so: nobody has looked there for its models. */
const SPELLED_UNDER_TYPE: ReadonlySet<JsonValue | undefined> = new Set([
  "function",
  "custom",
  "allowed_tools",
]);

/** `{type, function: {name, …}}` as `{type, name, …}`, and a grammar as `format` has it in Responses. */
function flatten(value: JsonValue): JsonValue {
  if (!isJsonObject(value) || typeof value.type !== "string") return value;
  if (!SPELLED_UNDER_TYPE.has(value.type)) return value;
  const { [value.type]: definition, ...rest } = value;
  if (!isJsonObject(definition)) return value;
  const { format } = definition;
  return {
    ...rest,
    ...definition,
    ...(isJsonObject(format) && isJsonObject(format.grammar) &&
      { format: { type: "grammar", ...format.grammar } }),
  };
}

function customNames(tools: JsonValue | undefined): ReadonlySet<JsonValue> {
  const list = Array.isArray(tools) ? tools.filter(isJsonObject) : [];
  return new Set(
    list.filter(({ type }) => type === "custom").flatMap(({ name }) =>
      name === undefined ? [] : [name]
    ),
  );
}

/** Makes calls of functions that are custom tools, and their results, those of custom tools again. */
function restoreCustomCalls(
  input: JsonValue,
  names: ReadonlySet<JsonValue>,
): JsonValue {
  if (!Array.isArray(input) || names.size === 0) return input;
  const restored = new Set<JsonValue | undefined>();
  return input.map((item) => {
    if (!isJsonObject(item)) return item;
    const { type, call_id, name } = item;
    if (
      type === "function_call" && name !== undefined && names.has(name)
    ) {
      restored.add(call_id);
      const { arguments: input, ...rest } = item;
      return { ...rest, type: "custom_tool_call", input: input ?? "" };
    }
    return type === "function_call_output" && restored.has(call_id)
      ? { ...item, type: "custom_tool_call_output" }
      : item;
  });
}
