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

/** A call of a tool at the end of an agent's turn. */
const CALL = { name: "run_command", arguments: '{"command":"ls -la src"}' };

/** Returns the `count` events of an agent's turn: texts, then the call of a tool. */
export function turnEvents(
  protocol: SpokenProtocol,
  count: number,
): readonly string[] {
  switch (protocol) {
    case "chat":
      return chatEvents(count, CALL);
    case "messages":
      return messagesEvents(count, CALL).map(named);
    case "responses":
      return responsesEvents(count, CALL).map(named);
  }
}

function chatEvents(count: number, call?: typeof CALL): string[] {
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
  const calls = call === undefined ? [] : [choice({
    tool_calls: [{
      index: 0,
      id: "call_bench0001",
      type: "function",
      function: call,
    }],
  })];
  return [
    ...words(count - 3 - calls.length).map((content) => choice({ content })),
    ...calls,
    choice({}, call === undefined ? "stop" : "tool_calls"),
    chunk({
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 298, total_tokens: 307 },
    }),
    "data: [DONE]\n\n",
  ];
}

function messagesEvents(
  count: number,
  call?: typeof CALL,
): { readonly type: string }[] {
  const calls = call === undefined ? [] : [
    event("content_block_start", {
      index: 1,
      content_block: {
        type: "tool_use",
        id: "toolu_bench0001",
        name: call.name,
        input: {},
      },
    }),
    event("content_block_delta", {
      index: 1,
      delta: { type: "input_json_delta", partial_json: call.arguments },
    }),
    event("content_block_stop", { index: 1 }),
  ];
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
    ...words(count - 5 - calls.length).map((text) =>
      event("content_block_delta", {
        index: 0,
        delta: { type: "text_delta", text },
      })
    ),
    event("content_block_stop", { index: 0 }),
    ...calls,
    event("message_delta", {
      delta: {
        stop_reason: call === undefined ? "end_turn" : "tool_use",
        stop_sequence: null,
      },
      usage: { output_tokens: 298 },
    }),
    event("message_stop", {}),
  ];
}

function responsesEvents(
  count: number,
  call?: typeof CALL,
): { readonly type: string }[] {
  const whole = JSON.parse(answers.responses);
  const [item] = whole.output;
  const [part] = item.content;
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const begun = { ...whole, status: "in_progress", output: [] };
  const called = call && {
    type: "function_call",
    id: "fc_bench0001",
    call_id: "call_bench0001",
    status: "completed",
    ...call,
  };
  const calls = called === undefined ? [] : [
    event("response.output_item.added", {
      output_index: 1,
      item: { ...called, status: "in_progress", arguments: "" },
    }),
    event("response.function_call_arguments.delta", {
      item_id: called.id,
      output_index: 1,
      delta: called.arguments,
    }),
    event("response.output_item.done", { output_index: 1, item: called }),
  ];
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
    ...words(count - 6 - calls.length).map((delta) =>
      event("response.output_text.delta", { ...place, delta })
    ),
    event("response.output_text.done", { ...place, text: TEXT }),
    event("response.output_item.done", { output_index: 0, item }),
    ...calls,
    event("response.completed", {
      response: called === undefined
        ? whole
        : { ...whole, output: [item, called] },
    }),
  ];
  return events.map((one, sequence_number) => ({ ...one, sequence_number }));
}

function event(type: string, fields: object): { readonly type: string } {
  return { type, ...fields };
}

function words(count: number): string[] {
  return Array.from({ length: count }, (_, position) => ` word${position}`);
}

/** The bytes of text in each event of a long stream. */
const LONG_EVENT_BYTES = 4096;

/** Returns a whole answer, or the events of a stream, with about as many bytes of text. */
export function longAnswer(
  protocol: SpokenProtocol,
  bytes: number,
  isStream: boolean,
): string {
  if (!isStream) {
    return answers[protocol].replace(TEXT, () => "x".repeat(bytes));
  }
  const events = streamEvents(protocol, Math.ceil(bytes / LONG_EVENT_BYTES));
  const text = "x".repeat(LONG_EVENT_BYTES);
  return events.map((event) => event.replace(/ word\d+/, text)).join("");
}
