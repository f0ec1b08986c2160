import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";

/** The parts of one short answer in a protocol, as a provider sends them. */
export interface Wire {
  /** A JSON answer. */
  readonly answer: JsonObject;
  /** The events before the first output. */
  readonly start: string;
  /** The first output. */
  readonly output: string;
  /** The rest of a complete stream. */
  readonly end: string;
  /** A failure in the middle of a stream, of a kind that another attempt may avoid. */
  readonly failure: string;
  /** The body of an error. */
  error(type: string, message: string, code?: string): JsonObject;
}

/** The text of the answers. */
export const WORDS = "Hello back";

function event(body: JsonObject): string {
  const name = typeof body.type === "string" ? `event: ${body.type}\n` : "";
  return `${name}data: ${JSON.stringify(body)}\n\n`;
}

const OVERLOADED = "The provider is overloaded";

function chunk(choice: JsonObject): string {
  return event({
    id: "chat-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "upstream",
    choices: [{ index: 0, finish_reason: null, ...choice }],
  });
}

const CHAT: Wire = {
  answer: {
    id: "chat-1",
    object: "chat.completion",
    created: 1,
    model: "upstream",
    choices: [{
      index: 0,
      message: { role: "assistant", content: WORDS },
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  start: chunk({ delta: { role: "assistant", content: "" } }),
  output: chunk({ delta: { content: WORDS } }),
  end: chunk({ delta: {}, finish_reason: "stop" }) +
    event({
      id: "chat-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "upstream",
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }) + "data: [DONE]\n\n",
  failure: event({
    error: { message: OVERLOADED, type: "overloaded_error", code: 503 },
  }),
  error: (type, message, code) => ({
    error: { message, type, param: null, code: code ?? null },
  }),
};

const MESSAGE = {
  id: "msg-1",
  type: "message",
  role: "assistant",
  model: "upstream",
};

const MESSAGES: Wire = {
  answer: {
    ...MESSAGE,
    content: [{ type: "text", text: WORDS }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  start: event({
    type: "message_start",
    message: {
      ...MESSAGE,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  }) + event({ type: "ping" }) + event({
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  }),
  output: event({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: WORDS },
  }),
  end: event({ type: "content_block_stop", index: 0 }) + event({
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 2 },
  }) + event({ type: "message_stop" }),
  failure: event({
    type: "error",
    error: { type: "overloaded_error", message: OVERLOADED },
  }),
  error: (type, message) => ({ type: "error", error: { type, message } }),
};

function response(status: string, output: JsonObject[]): JsonObject {
  return {
    id: "resp-1",
    object: "response",
    created_at: 1,
    status,
    model: "upstream",
    output,
    error: null,
    usage: status === "completed"
      ? { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
      : null,
  };
}

const PART = { type: "output_text", text: WORDS, annotations: [] };

const ITEM = { id: "item-1", type: "message", role: "assistant" };

const DONE_ITEM = { ...ITEM, status: "completed", content: [PART] };

const RESPONSES: Wire = {
  answer: response("completed", [DONE_ITEM]),
  start: event({
    type: "response.created",
    sequence_number: 0,
    response: response("in_progress", []),
  }) + event({
    type: "response.output_item.added",
    sequence_number: 1,
    output_index: 0,
    item: { ...ITEM, status: "in_progress", content: [] },
  }) + event({
    type: "response.content_part.added",
    sequence_number: 2,
    item_id: ITEM.id,
    output_index: 0,
    content_index: 0,
    part: { ...PART, text: "" },
  }),
  output: event({
    type: "response.output_text.delta",
    sequence_number: 3,
    item_id: ITEM.id,
    output_index: 0,
    content_index: 0,
    delta: WORDS,
  }),
  end: event({
    type: "response.output_text.done",
    sequence_number: 4,
    item_id: ITEM.id,
    output_index: 0,
    content_index: 0,
    text: WORDS,
  }) + event({
    type: "response.output_item.done",
    sequence_number: 5,
    output_index: 0,
    item: DONE_ITEM,
  }) + event({
    type: "response.completed",
    sequence_number: 6,
    response: response("completed", [DONE_ITEM]),
  }),
  failure: event({
    type: "response.failed",
    sequence_number: 3,
    response: {
      ...response("failed", []),
      error: { code: "server_is_overloaded", message: OVERLOADED },
    },
  }),
  error: CHAT.error,
};

/** The answer of each protocol. */
export const WIRES: Readonly<Record<Protocol, Wire>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};

/** Returns the protocol of an upstream path. */
export function protocolOfPath(path: string): Protocol {
  if (path.endsWith("/chat/completions")) return "chat";
  return path.endsWith("/messages") ? "messages" : "responses";
}

/** Returns true when a body asks for a stream. */
export function wantsStream(body: unknown): boolean {
  return isJsonObject(body) && body.stream === true;
}
