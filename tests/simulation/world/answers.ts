import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { Random } from "../../support/fakes/random.ts";

/** A provider's answer, before it is written in a protocol. */
export interface PlannedAnswer {
  readonly pieces: readonly string[];
  readonly call: { readonly id: string; readonly city: string } | undefined;
  /** The input tokens, with those read from and written to a cache. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  /** The output tokens, with those of reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** The parts of an answer that are equal in every protocol. */
export interface ReadAnswer {
  readonly text: string;
  /** The arguments of each tool call, as JSON. */
  readonly calls: readonly string[];
}

/**
 * Returns a random answer.
 *
 * @param number The number of the attempt: no two answers share a word.
 */
export function planAnswer(
  number: number,
  random: Random,
  hasTools: boolean,
): PlannedAnswer {
  const count = 1 + random.below(random.below(8) === 0 ? 60 : 12);
  const pieces = Array.from(
    { length: count },
    (_, at) =>
      `w${number}_${at}${random.pick([" ", "\n", " äß ", " 🌍 ", "\\n "])}`,
  );
  const inputTokens = 10 + random.below(2000);
  const outputTokens = count + random.below(300);
  const isCached = random.below(2) === 0;
  return {
    pieces,
    ...{ inputTokens, outputTokens },
    cachedTokens: isCached ? random.below(inputTokens >> 1) : 0,
    writtenTokens: isCached ? random.below(inputTokens >> 1) : 0,
    reasoningTokens: random.below(2) === 0 ? random.below(outputTokens) : 0,
    call: hasTools && random.below(2) === 0
      ? { id: `call_${number}`, city: `Köln ${number}` }
      : undefined,
  };
}

/** The charge for an answer, by the field names of the gateway's log. */
export interface Charged {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

/** Returns the charge that a provider reports. Not every protocol reports every part. */
export function chargedFor(
  answer: PlannedAnswer,
  protocol: Protocol,
): Charged {
  const isMessages = protocol === "messages";
  return {
    input_tokens: answer.inputTokens,
    cached_input_tokens: answer.cachedTokens,
    cache_write_tokens: isMessages ? answer.writtenTokens : 0,
    output_tokens: answer.outputTokens,
    reasoning_tokens: isMessages ? 0 : answer.reasoningTokens,
  };
}

/** Returns the content of an answer, to compare it with the answer that the caller read. */
export function readPlan({ pieces, call }: PlannedAnswer): ReadAnswer {
  return {
    text: pieces.join(""),
    calls: call === undefined ? [] : [argumentsOf(call)],
  };
}

function argumentsOf({ city }: { readonly city: string }): string {
  return JSON.stringify({ city });
}

/** A provider's answer, as a whole body or as the events of a stream. */
type Writer = {
  readonly whole: (answer: PlannedAnswer, model: string) => JsonObject;
  readonly events: (
    answer: PlannedAnswer,
    model: string,
    withUsage: boolean,
  ) => string[];
};

/** The writers of the three protocols. They share nothing with the codecs that they judge. */
export const WRITERS: Readonly<Record<Protocol, Writer>> = {
  chat: { whole: wholeChat, events: chatEvents },
  messages: { whole: wholeMessage, events: messageEvents },
  responses: { whole: wholeResponse, events: responseEvents },
};

function chatUsage(answer: PlannedAnswer): JsonObject {
  const { inputTokens, outputTokens } = answer;
  return {
    prompt_tokens: inputTokens,
    prompt_tokens_details: { cached_tokens: answer.cachedTokens },
    completion_tokens: outputTokens,
    completion_tokens_details: { reasoning_tokens: answer.reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function chatCall(call: NonNullable<PlannedAnswer["call"]>): JsonObject {
  return {
    id: call.id,
    type: "function",
    function: { name: "weather", arguments: argumentsOf(call) },
  };
}

function wholeChat(answer: PlannedAnswer, model: string): JsonObject {
  const { pieces, call } = answer;
  return {
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model },
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: pieces.join(""),
        ...call && { tool_calls: [chatCall(call)] },
      },
      finish_reason: call ? "tool_calls" : "stop",
    }],
    usage: chatUsage(answer),
  };
}

function chatEvents(
  answer: PlannedAnswer,
  model: string,
  withUsage: boolean,
): string[] {
  const { pieces, call } = answer;
  const frame = (delta: JsonObject, finish_reason: string | null = null) =>
    data({
      ...{ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1 },
      ...{ model, choices: [{ index: 0, delta, finish_reason }] },
      ...withUsage ? { usage: null } : {},
    });
  return [
    frame({ role: "assistant", content: "" }),
    ...pieces.map((content) => frame({ content })),
    ...call ? [frame({ tool_calls: [{ index: 0, ...chatCall(call) }] })] : [],
    frame({}, call ? "tool_calls" : "stop"),
    ...withUsage
      ? [data({
        ...{ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1 },
        ...{ model, choices: [], usage: chatUsage(answer) },
      })]
      : [],
    "data: [DONE]\n\n",
  ];
}

function messageUsage(
  { inputTokens, cachedTokens, writtenTokens, outputTokens }: PlannedAnswer,
): JsonObject {
  return {
    input_tokens: inputTokens - cachedTokens - writtenTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: writtenTokens,
    output_tokens: outputTokens,
  };
}

function toolUse(call: NonNullable<PlannedAnswer["call"]>, input: JsonObject) {
  return { type: "tool_use", id: call.id, name: "weather", input };
}

function wholeMessage(answer: PlannedAnswer, model: string): JsonObject {
  const { pieces, call } = answer;
  return {
    ...{ id: "msg_1", type: "message", role: "assistant", model },
    content: [
      { type: "text", text: pieces.join("") },
      ...call ? [toolUse(call, { city: call.city })] : [],
    ],
    stop_reason: call ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: messageUsage(answer),
  };
}

function messageEvents(answer: PlannedAnswer, model: string): string[] {
  const { pieces, call, outputTokens } = answer;
  return [
    {
      type: "message_start",
      message: {
        ...{ id: "msg_1", type: "message", role: "assistant", model },
        ...{ content: [], stop_reason: null, stop_sequence: null },
        usage: messageUsage({ ...answer, outputTokens: 1 }),
      },
    },
    {
      ...{ type: "content_block_start", index: 0 },
      content_block: { type: "text", text: "" },
    },
    { type: "ping" },
    ...pieces.map((text) => ({
      ...{ type: "content_block_delta", index: 0 },
      delta: { type: "text_delta", text },
    })),
    { type: "content_block_stop", index: 0 },
    ...call
      ? [
        {
          ...{ type: "content_block_start", index: 1 },
          content_block: toolUse(call, {}),
        },
        {
          ...{ type: "content_block_delta", index: 1 },
          delta: { type: "input_json_delta", partial_json: argumentsOf(call) },
        },
        { type: "content_block_stop", index: 1 },
      ]
      : [],
    {
      type: "message_delta",
      delta: {
        stop_reason: call ? "tool_use" : "end_turn",
        stop_sequence: null,
      },
      usage: { output_tokens: outputTokens },
    },
    { type: "message_stop" },
  ].map(named);
}

function responseItems({ pieces, call }: PlannedAnswer): JsonObject[] {
  return [
    {
      ...{ id: "msg_1", type: "message", role: "assistant" },
      status: "completed",
      content: [{ ...EMPTY_TEXT, text: pieces.join("") }],
    },
    ...call
      ? [{
        ...{ id: "fc_1", type: "function_call", status: "completed" },
        ...{ call_id: call.id, name: "weather", arguments: argumentsOf(call) },
      }]
      : [],
  ];
}

const EMPTY_TEXT = { type: "output_text", text: "", annotations: [] };

function wholeResponse(answer: PlannedAnswer, model: string): JsonObject {
  const { inputTokens, outputTokens } = answer;
  return {
    ...{ id: "resp_1", object: "response", created_at: 1, model },
    ...{ status: "completed", error: null, incomplete_details: null },
    output: responseItems(answer),
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: answer.cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: answer.reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  };
}

function responseEvents(answer: PlannedAnswer, model: string): string[] {
  const { pieces, call } = answer;
  const whole = wholeResponse(answer, model);
  const opening = { ...whole, status: "in_progress", output: [], usage: null };
  const [message, functionCall] = responseItems(answer);
  const text = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const args = { item_id: "fc_1", output_index: 1 };
  return [
    { type: "response.created", response: opening },
    { type: "response.in_progress", response: opening },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...message, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...text, part: EMPTY_TEXT },
    ...pieces.map((delta) => ({
      type: "response.output_text.delta",
      ...text,
      delta,
    })),
    { type: "response.output_text.done", ...text, text: pieces.join("") },
    {
      type: "response.content_part.done",
      ...text,
      part: { ...EMPTY_TEXT, text: pieces.join("") },
    },
    { type: "response.output_item.done", output_index: 0, item: message },
    ...call
      ? [
        {
          type: "response.output_item.added",
          output_index: 1,
          item: { ...functionCall, status: "in_progress", arguments: "" },
        },
        {
          type: "response.function_call_arguments.delta",
          ...args,
          delta: argumentsOf(call),
        },
        {
          type: "response.function_call_arguments.done",
          ...args,
          arguments: argumentsOf(call),
        },
        {
          type: "response.output_item.done",
          output_index: 1,
          item: functionCall,
        },
      ]
      : [],
    { type: "response.completed", response: whole },
  ].map((event, sequence_number) => named({ ...event, sequence_number }));
}

function data(payload: JsonObject): string {
  return `data: ${JSON.stringify(payload)}\n\n`;
}

function named(payload: JsonObject): string {
  return `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
}

/** An error event within a stream. */
export const ERROR_EVENTS: Readonly<Record<Protocol, string>> = {
  chat: data({
    error: {
      message: "The engine is overloaded",
      type: "server_error",
      code: 500,
    },
  }),
  messages: named({
    type: "error",
    ...{ error: { type: "overloaded_error", message: "Overloaded" } },
  }),
  responses: named({
    type: "response.failed",
    ...{
      sequence_number: 99,
      response: {
        ...{ id: "resp_1", object: "response", created_at: 1, model: "m" },
        ...{ status: "failed", output: [] },
        error: { code: "server_error", message: "The engine is overloaded" },
      },
    },
  }),
};

/** A ping of Messages, sent while the provider works. */
export const PING: string = named({ type: "ping" });

/** Returns the body of an error response. */
export function errorBody(
  protocol: Protocol,
  type: string,
  message = `The simulated provider says ${type}.`,
): JsonObject {
  const error = { type, message };
  return protocol === "messages"
    ? { type: "error", error }
    : { error: { ...error, code: type, param: null } };
}
