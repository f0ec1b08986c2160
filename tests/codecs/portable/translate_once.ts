import { translateRequest } from "../../../src/codecs/mod.ts";

const EVENTS = [
  { id: "c-1", choices: [{ index: 0, delta: { content: "Grüße 👋" } }] },
  { id: "c-1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
];

const TEXT = EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join("") + "data: [DONE]\n\n";

/** Translates a stream of Chat Completions, in chunks of seven bytes, for a Messages caller. Uses only web streams. */
export async function translateOnce(): Promise<string> {
  const { body, answerStream } = translateRequest(
    new TextEncoder().encode(JSON.stringify({
      ...{ model: "m", max_tokens: 100, stream: true },
      messages: [{ role: "user", content: "Hello" }],
    })),
    {
      ...{ from: "messages", to: "chat" },
      target: { service: "openai-chat", model: "gpt-5.2" },
    },
  );
  const bytes = new TextEncoder().encode(TEXT);
  let at = 0;
  const response = new Response(
    new ReadableStream({
      pull(controller) {
        controller.enqueue(bytes.slice(at, at += 7));
        if (at >= bytes.length) controller.close();
      },
    }),
  );
  let count = 0;
  const answer = response.body?.pipeThrough(answerStream({
    ids: { next: (prefix) => `${prefix}_${++count}` },
    now: () => 1_700_000_000_000,
  }));
  return JSON.stringify(body) + "\n" + await new Response(answer).text();
}
