import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { AnswerBlock } from "../canonical/content/block.ts";
import type { CallerCodec } from "../canonical/codec.ts";
import type { CanonicalRequest } from "../canonical/request/request.ts";
import type { AnswerEvent } from "../canonical/stream/event.ts";
import { chatCodec } from "../chat/mod.ts";
import { responsesCodec } from "../responses/mod.ts";

/**
 * Reads a Responses request whose answer must be in Chat Completions. Also accepts parts in the spelling of Chat, tools
 * and tool choices with a definition under the name of their type, and `stream_options.include_usage`. An earlier
 * answer gave the client the calls of custom tools as function calls, so the client may send them back as function
 * calls.
 *
 * @throws {GatewayError} `invalid_request` with `param`.
 */
function decodeRequest(body: JsonObject): CanonicalRequest {
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
      chat: { stream_options: { value: stream_options, weight: "ignore" } },
    },
  };
}

function flattenEach(tools: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(tools) ? tools.map(flatten) : tools;
}

/**
 * The types for which Chat puts a definition under the name of the type. Other types are not flattened, because the
 * check of the models that a request names (`named_models.ts`) does not look into nested definitions.
 */
const NESTED_TYPES: ReadonlySet<JsonValue | undefined> = new Set([
  "function",
  "custom",
  "allowed_tools",
]);

/**
 * Converts `{type, function: {name, …}}` or a tool of Messages into `{type, name, …}`. Converts a grammar into a
 * `format`.
 */
function flatten(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  if (isJsonObject(value.input_schema)) {
    const { input_schema, ...tool } = value;
    return { ...tool, type: "function", parameters: input_schema };
  }
  if (typeof value.type !== "string") return value;
  if (!NESTED_TYPES.has(value.type)) return value;
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

/** Converts function calls back into calls of custom tools if they name such a tool. Also converts their results. */
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

/**
 * The codec of callers that send the body of a Responses request to the path of Chat Completions and expect an answer
 * of Chat Completions. Cursor sends such requests for OpenAI models at the user's own base URL
 * (forum.cursor.com/t/153019, forum.cursor.com/t/159298). No upstream uses this form.
 *
 * A call of a custom tool becomes a function call whose arguments are the input text. Cursor reads `function.name` of
 * each call and passes `arguments` to the tool unchanged (github.com/icebear0828/codex-proxy/pull/708).
 */
export const responsesInChatCodec: CallerCodec = {
  protocol: "chat",
  fieldNames: responsesCodec.fieldNames,
  ...(responsesCodec.otherNames && { otherNames: responsesCodec.otherNames }),
  decodeRequest,
  encodeAnswer: (answer, context) =>
    chatCodec.encodeAnswer(
      { ...answer, blocks: answer.blocks.map(asFunction) },
      context,
    ),
  createStreamEncoder(context) {
    const chat = chatCodec.createStreamEncoder(context);
    return {
      push: (event, emit) => chat.push(beginAsFunction(event), emit),
      end: (emit) => chat.end(emit),
      keepAlive: (emit) => chat.keepAlive(emit),
    };
  },
  encodeFailure: chatCodec.encodeFailure,
};

function asFunction(block: AnswerBlock): AnswerBlock {
  if (block.kind !== "custom_call") return block;
  const { input, ...rest } = block;
  return { ...rest, kind: "function_call", arguments: input };
}

function beginAsFunction(event: AnswerEvent): AnswerEvent {
  if (event.type !== "block-start" || event.block.kind !== "custom_call") {
    return event;
  }
  return { ...event, block: { ...event.block, kind: "function_call" } };
}
