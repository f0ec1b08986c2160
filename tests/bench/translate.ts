/**
 * Measures the translation of a 300-event Messages stream to Chat Completions, with one event per
 * chunk. It compares it with an unchanged stream and with a minimal translator, side by side in one
 * run. The result is the median of the rounds' ratios. Then it watches the memory over many
 * streams. Run it with `deno task bench:translate`.
 */
import { randomIds } from "../../src/base/ids.ts";
import { settleCalls } from "../../src/codecs/canonical/tools/settle_calls.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { createBodyDecoder } from "../../src/codecs/decode_body.ts";
import { createTranslator } from "../../src/codecs/translate_stream.ts";
import { median } from "./load.ts";
import { minimalTranslator } from "./minimal_translator.ts";

const ROUNDS = 9;
const EVENTS = 300;
const STREAMS = 400;
const MEMORY_STREAMS = 100_000;
const MIB = 1024 * 1024;

type Make = () => TransformStream<Uint8Array, Uint8Array>;

const REQUEST = CODECS.chat.decodeRequest({
  model: "m",
  messages: [{ role: "user", content: "Hi" }],
  stream: true,
  stream_options: { include_usage: true },
});

const WAYS: readonly (readonly [name: string, make: Make])[] = [
  ["passed on", () => new TransformStream()],
  ["minimal translator", minimalTranslator],
  ["translation", translation],
];

console.log(
  `Deno ${Deno.version.deno}, ${EVENTS} events a stream, ${ROUNDS} rounds, medians`,
);
const chunks = messagesStream(EVENTS);
for (const [, make] of WAYS) await eventsPerSecond(make, chunks, STREAMS);
const rounds: number[][] = [];
for (let round = 0; round < ROUNDS; round++) {
  const rates: number[] = [];
  for (const [, make] of WAYS) {
    rates.push(await eventsPerSecond(make, chunks, STREAMS));
  }
  rounds.push(rates);
}
WAYS.forEach(([name], way) => {
  const rate = median(rounds.map((rates) => rates[way] ?? NaN));
  const ratio = median(
    rounds.map((rates) => (rates[way] ?? NaN) / (rates[1] ?? NaN)),
  );
  console.log(
    `${name.padEnd(20)} ${Math.round(rate)} events/s, ${
      ratio.toFixed(2)
    } of the minimal translator`,
  );
});
await watchMemory();

function translation(): TransformStream<Uint8Array, Uint8Array> {
  const encoder = new TextEncoder();
  const translator = createTranslator({
    decoder: createBodyDecoder(CODECS.messages, randomIds),
    between: settleCalls(),
    encoder: CODECS.chat.createStreamEncoder({
      ids: randomIds,
      nowMs: Date.now(),
      model: "m",
      request: REQUEST,
      estimatedInputTokens: 0,
      requestId: "req_1",
      connectionId: "c",
      drop: () => {},
    }),
  });
  return new TransformStream({
    transform(bytes, controller) {
      const text = translator.push(bytes);
      if (text !== "") controller.enqueue(encoder.encode(text));
    },
  });
}

/** Returns the chunks of a Messages stream with `count` events, one event each. */
function messagesStream(count: number): Uint8Array[] {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    usage,
  };
  const deltas = Array.from({ length: count - 5 }, (_, position) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: ` word ${position}` },
  }));
  const events = [
    { type: "message_start", message },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    },
    ...deltas,
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 42 },
    },
    { type: "message_stop" },
  ];
  const encoder = new TextEncoder();
  return events.map((event) =>
    encoder.encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  );
}

async function eventsPerSecond(
  make: Make,
  chunks: readonly Uint8Array[],
  streams: number,
): Promise<number> {
  const begin = performance.now();
  for (let stream = 0; stream < streams; stream++) {
    await drain(sourceOf(chunks).pipeThrough(make()));
  }
  return streams * chunks.length / ((performance.now() - begin) / 1000);
}

function sourceOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let position = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[position++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

/** Prints the memory in use at each fifth of the streams; it must not grow. */
async function watchMemory(): Promise<void> {
  const short = messagesStream(10);
  for (let fifth = 1; fifth <= 5; fifth++) {
    await eventsPerSecond(translation, short, MEMORY_STREAMS / 5);
    const { rss, heapUsed } = Deno.memoryUsage();
    console.log(
      `${fifth * MEMORY_STREAMS / 5} streams: ${
        Math.round(rss / MIB)
      } MiB resident, ${Math.round(heapUsed / MIB)} MiB heap`,
    );
  }
}
