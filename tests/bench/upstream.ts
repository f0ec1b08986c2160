/** The upstream of the benchmark: answers at once, so that what is measured is what stands before it. */

const EVENTS = 300;

const encoder = new TextEncoder();

const answer = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 0,
  model: "bench",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "An answer of a few words." },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 },
});

const events = [
  ...Array.from({ length: EVENTS - 2 }, (_, index) =>
    chunk({
      choices: [{
        index: 0,
        delta: { content: ` word${index}` },
        finish_reason: null,
      }],
    })),
  chunk({
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 298, total_tokens: 307 },
  }),
  encoder.encode("data: [DONE]\n\n"),
];

function chunk(fields: object): Uint8Array {
  return encoder.encode(`data: ${
    JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion.chunk",
      created: 0,
      model: "bench",
      ...fields,
    })
  }\n\n`);
}

/** A stream of events, each a chunk of its own. */
function stream(): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const event = events[next++];
      if (event === undefined) controller.close();
      else controller.enqueue(event);
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}

/** Reads a body without keeping it. */
async function drain(request: Request): Promise<void> {
  for await (const _ of request.body ?? []) {
    // Only its arrival counts.
  }
}

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
}, async (request) => {
  const wantsStream = request.headers.get("x-bench") === "stream";
  if (Number(request.headers.get("content-length")) > 1e6) await drain(request);
  else await request.bytes();
  if (wantsStream) return stream();
  return new Response(answer, {
    headers: { "content-type": "application/json" },
  });
});
