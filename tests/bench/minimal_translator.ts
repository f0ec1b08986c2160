import { createParser } from "eventsource-parser";

/**
 * The floor of the translation benchmark: Messages to Chat in one `TransformStream` that knows nothing but text.
 * No checks, no canonical form, no tools, no errors.
 */
export function minimalTranslator(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = "";
  let id = "";
  let model = "";
  const write = (choices: unknown[], rest: Record<string, unknown> = {}) => {
    const chunk = {
      id,
      object: "chat.completion.chunk",
      created: 1,
      model,
      choices,
      ...rest,
    };
    text += `data: ${JSON.stringify(chunk)}\n\n`;
  };
  const choice = (
    delta: unknown,
    finish: string | null = null,
  ) => [{ index: 0, delta, finish_reason: finish }];
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data);
      switch (event.type) {
        case "message_start":
          id = `chatcmpl-${event.message.id}`;
          model = event.message.model;
          write(choice({ role: "assistant", content: "" }));
          break;
        case "content_block_delta":
          write(choice({ content: event.delta.text }));
          break;
        case "message_delta":
          write(choice({}, "stop"));
          write([], { usage: event.usage });
          break;
        case "message_stop":
          text += "data: [DONE]\n\n";
          break;
      }
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
