import { DirectResponse } from "../../../../src/http1/direct_response.ts";
import { toResponse } from "../../../../src/gateway/http/gateway.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { isOutput } from "../../../../src/codecs/canonical/stream/event.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { createBodyDecoder } from "../../../../src/codecs/decode_body.ts";
import { createTranslator } from "../../../../src/codecs/translate_stream.ts";
import { holdBack } from "../../../../src/gateway/relay/answer_body.ts";
import { MAX_EMPTY_BYTES } from "../../../../src/codecs/canonical/max_sizes.ts";
import { createTranslatingReader } from "../../../../src/gateway/relay/translated/translating_reader.ts";
import {
  type ByteReader,
  createLookAhead,
} from "../../../../src/base/streams/byte_reader.ts";
import { PassThrough } from "../../../../src/base/streams/pass_through.ts";
import { WatchedReader } from "../../../../src/base/streams/watched_reader.ts";
import { answerContext, counterIds } from "../../../contract/codec_contract.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../../support/fakes/fake_timers.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { settle } from "../../../support/settle.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";
import { within } from "../../../support/within.ts";

/** Returns the body as a stream of the platform. */
function bodyOf(source: PassThrough): ReadableStream<Uint8Array> {
  const { body } = toResponse(new DirectResponse(source, { headers: [] }));
  assert.ok(body);
  return body;
}

/** A Messages stream for a Chat caller, with a source that the test controls. */
interface Scene {
  /** The reader before the body is handed over. */
  readonly ahead: ByteReader;
  /** Reads the beginning, until the first output. */
  hold(outputMs?: number): Promise<unknown>;
  /** The caller's body. */
  readonly body: ReadableStream<Uint8Array>;
  readonly timers: FakeTimers;
  readonly source: ReadableStreamDefaultController<Uint8Array>;
  /** The number of chunks requested from the source. */
  pulls(): number;
  /** The number of cancellations of the source. */
  cancels(): number;
  /** Each ending of the stream. */
  readonly ends: readonly string[];
  readonly seen: readonly AnswerEvent[];
  /** The text that the caller has received so far. */
  written(): string;
}

interface SceneOptions {
  readonly idleMs?: number;
  /** Called with every event before it is written. */
  readonly observe?: (event: AnswerEvent) => void;
  readonly signal?: AbortSignal;
}

function begin(
  { idleMs = 60_000, observe, signal = new AbortController().signal }:
    SceneOptions = {},
): Scene {
  const timers = createFakeTimers();
  const ends: string[] = [];
  const seen: AnswerEvent[] = [];
  let pulls = 0;
  let cancels = 0;
  let written = "";
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (source = controller),
    pull: () => void pulls++,
    cancel: () => void cancels++,
  }, { highWaterMark: 0 });
  assert.ok(source);
  const deadlines = createDeadlines(timers);
  const translator = createTranslator({
    decoder: createBodyDecoder(CODECS.messages, counterIds()),
    encoder: CODECS.chat.createStreamEncoder(answerContext(requestOf())),
    observe(event) {
      seen.push(event);
      observe?.(event);
    },
  });
  const upstream = new WatchedReader(body.getReader(), {
    deadlines,
    idleMs,
    signal,
  });
  const ahead = createLookAhead(
    createTranslatingReader(upstream, {
      translator,
      failureOf: (cause) => ({ kind: "broken", message: `Broke: ${cause}` }),
      deadlines,
    }),
  );
  const judge = {
    push: () => seen.some(isOutput) ? seen : undefined,
    end: () => seen,
  };
  return {
    ahead,
    hold: (outputMs) => holdBack(ahead, { judge, deadlines, outputMs }),
    body: bodyOf(
      new PassThrough(ahead, {
        deadlines,
        keepAlive: () => new TextEncoder().encode(translator.keepAlive()),
        onChunk: (chunk) => void (written += decoder.decode(chunk)),
        onEnd: ({ kind }) => ends.push(kind),
      }),
    ),
    timers,
    source,
    pulls: () => pulls,
    cancels: () => cancels,
    ends,
    seen,
    written: () => written,
  };
}

const START = sseBytes({
  type: "message_start",
  message: { id: "m", model: "x", usage: { input_tokens: 1 } },
});
const PING = sseBytes({ type: "ping" });
const HELLO = sseBytes(
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "Hello" },
  },
);
const MORE = sseBytes({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: " more" },
});
const STOP = sseBytes(
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: 2 },
  },
  { type: "message_stop" },
);

const decoder = new TextDecoder();

/** Reads the caller's next chunk; "" at the end. */
async function next(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<string> {
  const { value } = await reader.read();
  return decoder.decode(value);
}

Deno.test("a translated stream is held back until its first output, then sent from its beginning", async () => {
  const scene = begin();
  let isHeld = true;
  const holding = scene.hold().finally(() => isHeld = false);
  scene.source.enqueue(START);
  scene.source.enqueue(PING);
  await settle();
  assert.equal(isHeld, true);
  scene.source.enqueue(HELLO);
  assert.equal(await holding, scene.seen);
  const reader = scene.body.getReader();
  assert.match(
    await next(reader),
    /"role":"assistant".*\n\n.*"content":"Hello"/s,
  );
  scene.source.enqueue(STOP);
  scene.source.close();
  assert.match(await next(reader), /"finish_reason":"stop".*\[DONE\]/s);
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(scene.ends, ["complete"]);
  assert.equal(scene.timers.running, 0);
});

Deno.test("a translated stream reads its upstream only when its caller reads", async () => {
  const scene = begin();
  await settle();
  assert.equal(scene.pulls(), 0);
  const reader = scene.body.getReader();
  const reading = next(reader);
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  scene.source.enqueue(MORE);
  await reading;
  const pulls = scene.pulls();
  await settle();
  assert.equal(scene.pulls(), pulls);
  await reader.cancel();
});

Deno.test("a translated stream closes at the end of the answer even if the upstream stays open", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  scene.source.enqueue(STOP);
  let text = "";
  for (let part = await next(reader); part !== ""; part = await next(reader)) {
    text += part;
  }
  assert.match(text, /\[DONE\]\n\n$/);
  assert.deepEqual(scene.ends, ["complete"]);
  assert.equal(scene.cancels(), 0);
  scene.timers.advance(100);
  assert.equal(scene.cancels(), 1);
  assert.equal(scene.timers.running, 0);
});

Deno.test("a translated stream reads the body to its end, so that its socket can be reused", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  for (const part of [START, HELLO, STOP]) scene.source.enqueue(part);
  for (let part = "x"; part !== "";) part = await next(reader);
  scene.timers.advance(99);
  scene.source.enqueue(PING);
  scene.source.close();
  await settle();
  assert.equal(scene.timers.running, 0);
  assert.equal(scene.cancels(), 0);
});

Deno.test("a translated stream cancels an upstream that sends over 16 KiB after its answer", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  for (const part of [START, HELLO, STOP]) scene.source.enqueue(part);
  for (let part = "x"; part !== "";) part = await next(reader);
  scene.source.enqueue(new Uint8Array(16 * 1024 + 1));
  await settle();
  assert.equal(scene.timers.running, 0);
  assert.equal(scene.cancels(), 1);
});

Deno.test("a translated stream fails with a timeout when it is held back for too long", async () => {
  const scene = begin();
  const holding = scene.hold(5000);
  scene.source.enqueue(START);
  await settle();
  scene.timers.advance(4999);
  await settle();
  assert.equal(scene.seen.length, 1);
  scene.timers.advance(1);
  await assert.rejects(holding, { kind: "timeout" });
  await scene.ahead.cancel();
  assert.equal(scene.timers.running, 0);
  assert.equal(scene.cancels(), 1);
  assert.deepEqual(scene.ends, []);
});

Deno.test("a translated stream loses no data of a read that began while the stream was held back", async () => {
  const scene = begin();
  const holding = scene.hold();
  await settle();
  scene.timers.advance(15_000);
  assert.equal(await holding, undefined);
  const reader = scene.body.getReader();
  const reading = next(reader);
  await settle();
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  let text = await reading;
  while (!text.includes("Hello")) text += await next(reader);
  await reader.cancel();
});

const KEEP_ALIVE_REGEXP = /^: ?.*\n\n/;

Deno.test("a translated stream sends a keep-alive every 15 s while the upstream sends no output", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  while (!scene.written().includes("Hello")) await next(reader);
  const reading = next(reader);
  for (let seconds = 0; seconds < 15; seconds += 5) {
    await settle();
    scene.source.enqueue(PING);
    await settle();
    scene.timers.advance(5000);
  }
  assert.match(await reading, KEEP_ALIVE_REGEXP);
  await reader.cancel();
});

Deno.test("a translated stream sends no keep-alive to a caller that does not read", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  while (!scene.written().includes("Hello")) await next(reader);
  await settle();
  const before = scene.written();
  scene.timers.advance(300_000);
  assert.equal(scene.written(), before);
  await reader.cancel();
});

Deno.test("a translated stream cuts off a caller that reads nothing for ten minutes", async () => {
  const scene = begin({ idleMs: 0 });
  const reader = scene.body.getReader();
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  while (!scene.written().includes("Hello")) await next(reader);
  const reading = next(reader);
  scene.source.enqueue(MORE);
  await reading;
  // The next chunk is requested once, and nobody reads its surplus.
  const last = next(reader);
  await settle();
  scene.timers.advance(15_000);
  await last;
  scene.timers.advance(15_000);
  await settle();
  assert.deepEqual(scene.ends, []);
  scene.timers.advance(1_300_000);
  await assert.rejects(next(reader), /stopped reading/);
  assert.deepEqual(scene.ends, ["stalled"]);
  assert.equal(scene.cancels(), 1);
  assert.equal(scene.timers.running, 0);
});

Deno.test("a translated stream does not cut off a caller that reads a slow answer to its end", async () => {
  const scene = begin({ idleMs: 0 });
  const reader = scene.body.getReader();
  const texts: string[] = [];
  const reading = (async () => {
    for (
      let text = await next(reader);
      text !== "";
      text = await next(reader)
    ) {
      texts.push(text);
    }
  })();
  for (let minutes = 0; minutes < 40; minutes += 0.25) {
    await settle();
    scene.timers.advance(15_000);
  }
  await settle();
  assert.ok(texts.length >= 100);
  assert.deepEqual(scene.ends, []);
  await reader.cancel();
  await reading;
  assert.deepEqual(scene.ends, ["cancelled"]);
});

Deno.test("a translated stream breaks off when an unforeseen error is thrown", async () => {
  const scene = begin({
    observe() {
      throw new TypeError("a fault of our own");
    },
  });
  const reader = scene.body.getReader();
  scene.source.enqueue(START);
  await assert.rejects(next(reader), /a fault of our own/);
  assert.deepEqual(scene.ends, ["broken"]);
  assert.equal(scene.cancels(), 1);
  assert.equal(scene.timers.running, 0);
});

Deno.test("an unforeseen error leaves no deadline behind while a translated stream is held back", async () => {
  const scene = begin({
    observe() {
      throw new TypeError("a fault of our own");
    },
  });
  scene.source.enqueue(START);
  await assert.rejects(scene.hold(), /a fault of our own/);
  await scene.ahead.cancel();
  assert.equal(scene.timers.running, 0);
});

Deno.test("a translated stream ends with an error when the gateway cancels it, even if the upstream stays open", async () => {
  const controller = new AbortController();
  const scene = begin({ signal: controller.signal });
  scene.source.enqueue(START);
  scene.source.enqueue(HELLO);
  const reader = scene.body.getReader();
  for (const _ of ["the start", "the text"]) await reader.read();
  const rest = reader.read();
  await settle();
  controller.abort(new Error("shutting down"));
  const { value } = await within(rest, "the caller to receive the error");
  assert.match(new TextDecoder().decode(value), /event: error\n.*shutting/);
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(scene.ends, ["complete"]);
  assert.equal(scene.cancels(), 1);
});

Deno.test("a translated stream breaks off when 16 MiB without output follow the last output", async () => {
  const scene = begin();
  const reader = scene.body.getReader();
  const empty = new TextEncoder().encode(": \n\n".repeat(MAX_EMPTY_BYTES / 8));
  assert.equal(empty.length, MAX_EMPTY_BYTES / 2);
  scene.source.enqueue(START);
  scene.source.enqueue(empty);
  scene.source.enqueue(HELLO);
  scene.source.enqueue(empty);
  scene.source.enqueue(empty);
  scene.source.enqueue(PING);
  let text = "";
  while (!text.includes("Hello")) text += await next(reader);
  assert.match(
    await next(reader),
    /^event: error\n.*The provider sent 16 MiB without any output/,
  );
  assert.equal((await reader.read()).done, true);
  // The rest may be short, and the socket can then be reused.
  scene.timers.advance(100);
  assert.equal(scene.cancels(), 1);
});
