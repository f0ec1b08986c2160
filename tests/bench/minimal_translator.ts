/**
 * The floors of the translation benchmarks: Messages to Chat Completions and back in one
 * `TransformStream`, for text only. It has no checks, canonical form, tools or errors.
 */
import { createParser } from "eventsource-parser";
import { leanPost } from "./lean_client.ts";

/** A request in the upstream's protocol, with the functions that translate its answer to the caller's. */
interface Translation {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isStream: boolean;
  readonly writeWhole: (answer: string) => string;
  /** Returns a function from an event's data to the text for the caller. */
  readonly eventWriter: () => (data: string) => string;
}

async function translated(
  request: Request,
  base: string,
): Promise<Translation> {
  const isChatCaller = request.url.endsWith("/chat/completions");
  const asked = JSON.parse(await request.text());
  const writeAnswer = isChatCaller ? chatAnswer : messagesAnswer;
  return {
    url: base + (isChatCaller ? "/messages" : "/chat/completions"),
    headers: { "content-type": "application/json" },
    body: JSON.stringify(isChatCaller ? { max_tokens: 4096, ...asked } : asked),
    isStream: asked.stream === true,
    writeWhole: (answer) => JSON.stringify(writeAnswer(JSON.parse(answer))),
    eventWriter: isChatCaller ? messagesToChat : chatToMessages,
  };
}

/** Serves a caller of one protocol through an upstream of the other, whole or streamed. */
export async function minimalTranslation(
  request: Request,
  base: string,
): Promise<Response> {
  const { url, headers, body, isStream, writeWhole, eventWriter } =
    await translated(request, base);
  const answer = await fetch(url, { method: "POST", headers, body });
  if (!isStream) return json(writeWhole(await answer.text()));
  return new Response(
    answer.body?.pipeThrough(throughParser(eventWriter())) ?? null,
    EVENT_STREAM,
  );
}

/** Serves the same callers over the raw client: one string and one chunk for each read. */
export async function leanTranslation(
  request: Request,
  base: string,
): Promise<Response> {
  const { url, headers, body, isStream, writeWhole, eventWriter } =
    await translated(request, base);
  const answer = await leanPost({
    url,
    headers: Object.entries(headers),
    body: encoder.encode(body),
    change: pieceWriter(eventWriter()),
  });
  if (isStream) return new Response(answer.body, EVENT_STREAM);
  return json(writeWhole(await new Response(answer.body).text()));
}

const EVENT_STREAM = { headers: { "content-type": "text/event-stream" } };

const encoder = new TextEncoder();

function json(text: string): Response {
  return new Response(text, {
    headers: { "content-type": "application/json" },
  });
}

/** Returns a function from the bytes of one read to the translation of the events that end in them. */
function pieceWriter(
  write: (data: string) => string,
): (piece: Uint8Array) => Uint8Array {
  const decoder = new TextDecoder();
  let rest = "";
  return (piece) => {
    const text = rest + decoder.decode(piece, { stream: true });
    let written = "";
    let from = 0;
    for (let end = 0; (end = text.indexOf("\n\n", from)) >= 0;) {
      const data = text.indexOf("data: ", from);
      written += write(text.slice(data + "data: ".length, end));
      from = end + 2;
    }
    rest = text.slice(from);
    return encoder.encode(written);
  };
}

function chatAnswer(message: {
  readonly id: string;
  readonly model: string;
  readonly content: readonly { readonly text: string }[];
  readonly usage: unknown;
}): object {
  return {
    id: message.id,
    object: "chat.completion",
    created: 1,
    model: message.model,
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: message.content.map(({ text }) => text).join(""),
      },
      finish_reason: "stop",
    }],
    usage: message.usage,
  };
}

function messagesAnswer(completion: {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly { readonly message: { content: string } }[];
  readonly usage: unknown;
}): object {
  return {
    id: completion.id,
    type: "message",
    role: "assistant",
    model: completion.model,
    content: completion.choices.map(({ message }) => ({
      type: "text",
      text: message.content,
    })),
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: completion.usage,
  };
}

/** Translates a Messages stream to Chat Completions. */
export function minimalTranslator(): TransformStream<Uint8Array, Uint8Array> {
  return throughParser(messagesToChat());
}

function messagesToChat(): (data: string) => string {
  let id = "";
  let model = "";
  const chunk = (choices: unknown[], rest: Record<string, unknown> = {}) =>
    `data: ${
      JSON.stringify({
        id,
        object: "chat.completion.chunk",
        created: 1,
        model,
        choices,
        ...rest,
      })
    }\n\n`;
  const choice = (
    delta: unknown,
    finish: string | null = null,
  ) => [{ index: 0, delta, finish_reason: finish }];
  return (data) => {
    const event = JSON.parse(data);
    switch (event.type) {
      case "message_start":
        id = `chatcmpl-${event.message.id}`;
        model = event.message.model;
        return chunk(choice({ role: "assistant", content: "" }));
      case "content_block_delta":
        return chunk(choice({ content: event.delta.text }));
      case "message_delta":
        return chunk(choice({}, "stop")) + chunk([], { usage: event.usage });
      case "message_stop":
        return "data: [DONE]\n\n";
      default:
        return "";
    }
  };
}

/** Translates a Chat Completions stream to Messages. */
function chatToMessages(): (data: string) => string {
  let isBegun = false;
  const frame = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const begin = (id: string, model: string) =>
    frame("message_start", {
      message: {
        id,
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        usage: { input_tokens: 0, output_tokens: 0 },
      },
    }) +
    frame("content_block_start", {
      index: 0,
      content_block: { type: "text", text: "" },
    });
  return (data) => {
    if (data === "[DONE]") return frame("message_stop", {});
    const { id, model, choices: [choice], usage } = JSON.parse(data);
    let text = "";
    if (!isBegun) {
      isBegun = true;
      text += begin(id, model);
    }
    if (choice?.delta.content !== undefined) {
      text += frame("content_block_delta", {
        index: 0,
        delta: { type: "text_delta", text: choice.delta.content },
      });
    }
    if (usage !== undefined) {
      text += frame("content_block_stop", { index: 0 }) +
        frame("message_delta", { delta: { stop_reason: "end_turn" }, usage });
    }
    return text;
  };
}

/** Returns a transform that writes the translation of each event's data. */
function throughParser(
  write: (data: string) => string,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = "";
  const parser = createParser({
    onEvent({ data }) {
      text += write(data);
    },
  });
  return new TransformStream({
    transform(bytes, controller) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      if (text === "") return;
      controller.enqueue(encoder.encode(text));
      text = "";
    },
  });
}
