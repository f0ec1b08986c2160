/** A protocol of the benchmark's upstream. */
export type SpokenProtocol = "chat" | "messages" | "responses";

const TEXT = "An answer of a few words.";

/** One whole answer by protocol, as JSON. */
export const answers: Readonly<Record<SpokenProtocol, string>> = {
  chat: JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 0,
    model: "bench",
    choices: [{
      index: 0,
      message: { role: "assistant", content: TEXT },
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 },
  }),
  messages: JSON.stringify({
    id: "msg_bench",
    type: "message",
    role: "assistant",
    model: "bench",
    content: [{ type: "text", text: TEXT }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 7 },
  }),
  responses: JSON.stringify({
    id: "resp_bench",
    object: "response",
    status: "completed",
    model: "bench",
    output: [{
      type: "message",
      id: "msg_bench",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: TEXT, annotations: [] }],
    }],
    usage: { input_tokens: 9, output_tokens: 7, total_tokens: 16 },
  }),
};

/** Returns the `count` events of a stream, each as the text of one server-sent event. */
export function streamEvents(
  protocol: SpokenProtocol,
  count: number,
): readonly string[] {
  switch (protocol) {
    case "chat":
      return chatEvents(count);
    case "messages":
      return messagesEvents(count).map(named);
    case "responses":
      return responsesEvents(count).map(named);
  }
}

function named(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function chatEvents(count: number): string[] {
  const chunk = (fields: object) =>
    `data: ${
      JSON.stringify({
        id: "chatcmpl-bench",
        object: "chat.completion.chunk",
        created: 0,
        model: "bench",
        ...fields,
      })
    }\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] });
  return [
    ...words(count - 3).map((content) => choice({ content })),
    choice({}, "stop"),
    chunk({
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 298, total_tokens: 307 },
    }),
    "data: [DONE]\n\n",
  ];
}

function messagesEvents(count: number): { readonly type: string }[] {
  const message = {
    ...JSON.parse(answers.messages),
    content: [],
    stop_reason: null,
  };
  return [
    event("message_start", { message }),
    event("content_block_start", {
      index: 0,
      content_block: { type: "text", text: "" },
    }),
    ...words(count - 5).map((text) =>
      event("content_block_delta", {
        index: 0,
        delta: { type: "text_delta", text },
      })
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 298 },
    }),
    event("message_stop", {}),
  ];
}

function responsesEvents(count: number): { readonly type: string }[] {
  const whole = JSON.parse(answers.responses);
  const [item] = whole.output;
  const [part] = item.content;
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const begun = { ...whole, status: "in_progress", output: [] };
  const events = [
    event("response.created", { response: begun }),
    event("response.output_item.added", {
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    }),
    event("response.content_part.added", {
      ...place,
      part: { ...part, text: "" },
    }),
    ...words(count - 6).map((delta) =>
      event("response.output_text.delta", { ...place, delta })
    ),
    event("response.output_text.done", { ...place, text: TEXT }),
    event("response.output_item.done", { output_index: 0, item }),
    event("response.completed", { response: whole }),
  ];
  return events.map((one, sequence_number) => ({ ...one, sequence_number }));
}

function event(type: string, fields: object): { readonly type: string } {
  return { type, ...fields };
}

function words(count: number): string[] {
  return Array.from({ length: count }, (_, position) => ` word${position}`);
}
