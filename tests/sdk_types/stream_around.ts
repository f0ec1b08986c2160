import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";

/** Returns a whole stream with `event`, in place of the event of its type or before the end. */
export function streamAround(
  event: JsonObject,
  protocol: Protocol,
): readonly (JsonObject | string)[] {
  switch (protocol) {
    case "chat":
      return [
        chunk({ role: "assistant", content: "Hi" }, null),
        { ...chunk({}, null), ...withWholeDeltas(event) },
        chunk({}, "stop"),
        "[DONE]",
      ];
    case "messages":
      return replaced(messages(event), event, "content_block_stop");
    case "responses":
      return replaced(responses(event), event, "response.output_item.done");
  }
}

/** Adds a text to empty deltas, and a name to calls. */
function withWholeDeltas(event: JsonObject): JsonObject {
  if (!Array.isArray(event.choices)) return event;
  return {
    ...event,
    choices: event.choices.map((choice) =>
      isJsonObject(choice) && isJsonObject(choice.delta)
        ? { ...choice, delta: wholeDelta(choice.delta) }
        : choice
    ),
  };
}

function wholeDelta(delta: JsonObject): JsonObject {
  const { tool_calls: calls } = delta;
  if (!Array.isArray(calls)) return { content: "Hi", ...delta };
  return { ...delta, tool_calls: calls.filter(isJsonObject).map(wholeCall) };
}

function wholeCall(call: JsonObject): JsonObject {
  const { custom, function: called } = call;
  if (isJsonObject(custom)) {
    const whole = { name: "patch", input: "a", ...custom };
    return { id: "call_1", ...call, type: "custom", custom: whole };
  }
  const own = isJsonObject(called) ? called : {};
  const whole = { name: "weather", arguments: "{}", ...own };
  return { id: "call_1", ...call, type: "function", function: whole };
}

function chunk(delta: JsonObject, finish: string | null): JsonObject {
  return {
    id: "c1",
    object: "chat.completion.chunk",
    model: "a model",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function replaced(
  stream: readonly JsonObject[],
  event: JsonObject,
  before: string,
): readonly JsonObject[] {
  if (event.type === undefined) return stream;
  if (stream.some(({ type }) => type === event.type)) {
    return stream.map((one) =>
      one.type === event.type ? { ...one, ...event } : one
    );
  }
  const place = stream.findIndex(({ type }) => type === before);
  return stream.toSpliced(place, 0, event);
}

const BLOCK_BY_DELTA: Readonly<Record<string, JsonObject>> = {
  input_json_delta: { type: "tool_use", id: "t1", name: "weather", input: {} },
  thinking_delta: { type: "thinking", thinking: "", signature: "" },
  signature_delta: { type: "thinking", thinking: "", signature: "" },
  compaction_delta: { type: "compaction", content: null },
};

function messages({ delta }: JsonObject): readonly JsonObject[] {
  const kind = isJsonObject(delta) ? delta.type : undefined;
  const special = typeof kind === "string" ? BLOCK_BY_DELTA[kind] : undefined;
  const usage = { input_tokens: 1, output_tokens: 1 };
  return [
    {
      type: "message_start",
      message: {
        id: "m1",
        type: "message",
        role: "assistant",
        model: "a model",
        content: [],
        usage,
      },
    },
    {
      type: "content_block_start",
      index: 0,
      content_block: special ?? { type: "text", text: "" },
    },
    {
      type: "content_block_delta",
      index: 0,
      delta: special === undefined
        ? { type: "text_delta", text: "Hi" }
        : { type: kind },
    },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
}

/** The item of an event, by the event's name. */
const ITEMS: readonly (readonly [name: RegExp, item: JsonObject])[] = [
  [/function_call/, {
    type: "function_call",
    call_id: "call_1",
    name: "weather",
    arguments: "{}",
  }],
  [/custom_tool/, {
    type: "custom_tool_call",
    call_id: "call_1",
    name: "patch",
    input: "a",
  }],
  [/reasoning/, { type: "reasoning", summary: [] }],
  [/./, {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "Hi", annotations: [] }],
  }],
];

function responses({ type }: JsonObject): readonly JsonObject[] {
  const name = String(type);
  const found = ITEMS.find(([of]) => of.test(name))?.[1] ?? {};
  const item: JsonObject = { id: "item_1", status: "completed", ...found };
  const place = { item_id: "item_1", output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: "Hi", annotations: [] };
  const head = { id: "r1", object: "response", model: "a model" };
  const text = item.type === "message"
    ? [
      { type: "response.content_part.added", ...place, part },
      { type: "response.output_text.delta", ...place, delta: "Hi" },
      { type: "response.output_text.done", ...place, text: "Hi" },
      { type: "response.content_part.done", ...place, part },
    ]
    : [];
  const unfilled = { content: [], arguments: "", input: "" };
  const open = { ...item, status: "in_progress", ...unfilled };
  return [
    {
      type: "response.created",
      response: { ...head, status: "in_progress", output: [] },
    },
    { type: "response.output_item.added", output_index: 0, item: open },
    ...text,
    { type: "response.output_item.done", output_index: 0, item },
    {
      type: "response.completed",
      response: { ...head, status: "completed", output: [item] },
    },
  ];
}
