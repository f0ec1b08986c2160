import assert from "node:assert/strict";
import type { Ids } from "../../src/base/ids.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { type Protocol, PROTOCOLS } from "../../src/base/protocol.ts";
import {
  type ByteReader,
  createByteReader,
} from "../../src/base/streams/byte_reader.ts";
import { formatFrame } from "../../src/base/streams/sse.ts";
import { createDeadlines } from "../../src/base/time/deadlines.ts";
import { brokenAnswer } from "../../src/codecs/canonical/failure/failure.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { estimateTokens } from "../../src/codecs/jobs/request_job.ts";
import { openTranslator } from "../../src/codecs/jobs/stream_job.ts";
import { translateRequest } from "../../src/codecs/jobs/translate.ts";
import {
  readRequest,
  writeRequest,
} from "../../src/codecs/translate_request.ts";
import { createTranslatingReader } from "../../src/gateway/relay/translated/translating_reader.ts";
import { ANSWERS } from "../contract/answers.ts";
import { counterIds, encodeStream } from "../contract/codec_contract.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { createRandom } from "../support/fakes/random.ts";
import { requestOf } from "../support/wire/requests.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";
import { within } from "../support/within.ts";

// answerStream() and the gateway run the same stage, so both write the same bytes.

const TARGET = { service: "gateway", model: "their-model" };

/** Requests with one tool, and with a stop string that requires edits of the answer. */
const REQUESTS: Readonly<Record<Protocol, JsonObject>> = {
  chat: {
    model: "m",
    stream: true,
    stop: ["STOP"],
    messages: [{ role: "user", content: "Hello" }],
  },
  messages: {
    model: "m",
    stream: true,
    max_tokens: 100,
    stop_sequences: ["STOP"],
    messages: [{ role: "user", content: "Hello" }],
  },
  responses: { model: "m", stream: true, input: "Hello" },
};

const now = () => 1_700_000_000_000;

interface Pair {
  readonly from: Protocol;
  readonly to: Protocol;
}

const PAIRS = PROTOCOLS.flatMap((from) =>
  PROTOCOLS.map((to): Pair => ({ from, to }))
);

function transformOf({ from, to }: Pair, ids: Ids = counterIds()) {
  return translateRequest(REQUESTS[from], { from, to, target: TARGET })
    .answerStream({ ids, now });
}

/** Returns the reader of an answer that the gateway itself uses. */
function gatewayReader({ from, to }: Pair, upstream: ByteReader): ByteReader {
  const json = REQUESTS[from];
  const read = readRequest(json, CODECS[from]);
  const edits = writeRequest(read, {
    ...{ to: CODECS[to], strict: false, streamOnly: false },
    ...{ force: {}, omit: [] },
    target: { ...TARGET, connectionId: "", maxOutputTokens: undefined },
  });
  const translator = openTranslator({
    ...{ from: CODECS[from], to, edits },
    context: {
      ...{ ids: counterIds(), now, nowMs: now(), drop() {} },
      model: read.request.model,
      request: read.request,
      estimatedInputTokens: estimateTokens(
        JSON.stringify(json).length,
        read.request,
      ),
      ...{ requestId: "", connectionId: "" },
    },
  });
  return createTranslatingReader(upstream, {
    translator,
    failureOf: () => brokenAnswer("The model's provider broke off"),
    deadlines: createDeadlines(createFakeTimers()),
  });
}

/** Returns a body that sends chunks, and then closes or breaks off. */
function bodyOf(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  end: "closes" | "breaks off",
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk !== undefined) controller.enqueue(chunk.slice());
      else if (end === "closes") controller.close();
      else controller.error(new TypeError("reset"));
    },
  }, { highWaterMark: 0 });
}

async function readAll(reader: ByteReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await within(reader.read(), "the next chunk");
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
}

/** Cuts bytes at random places. */
function cut(bytes: Uint8Array<ArrayBuffer>, seed: number) {
  const random = createRandom(seed);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + random.below(40);
    chunks.push(bytes.slice(at, end));
    at = end;
  }
  return chunks;
}

function streamOf(to: Protocol, index: number): Uint8Array<ArrayBuffer> {
  const { answer } = ANSWERS[index % ANSWERS.length] ?? {};
  assert.ok(answer);
  const frames = encodeStream(
    CODECS[to],
    answer,
    requestOf({ stream: true }),
  );
  return new TextEncoder().encode(frames.map(formatFrame).join(""));
}

for (const pair of PAIRS) {
  const { from, to } = pair;

  Deno.test(`answerStream() writes the same bytes as the gateway: ${to} for a ${from} caller`, async () => {
    for (const index of ANSWERS.keys()) {
      const bytes = streamOf(to, index);
      const chunks = cut(bytes, index);
      const half = chunks.slice(0, Math.ceil(chunks.length / 2));
      for (
        const [given, end] of [
          ...[[chunks, "closes"], [half, "closes"]] as const,
          ...[[half, "breaks off"], [[], "breaks off"]] as const,
        ]
      ) {
        const expected = await readAll(
          gatewayReader(pair, createByteReader(bodyOf(given, end))),
        );
        const written = bodyOf(given, end).pipeThrough(transformOf(pair));
        assert.equal(await readAll(written.getReader()), expected);
        assert.ok(expected.length > 0);
      }
    }
  });

  Deno.test(`answerStream() writes an error of the provider: ${to} for a ${from} caller`, async () => {
    const chunks = [
      streamOf(to, 0).slice(0, 60),
      sseBytes({
        type: "error",
        error: { type: "overloaded_error", message: "Too many" },
      }),
    ];
    const expected = await readAll(
      gatewayReader(pair, createByteReader(bodyOf(chunks, "closes"))),
    );
    const written = bodyOf(chunks, "closes").pipeThrough(transformOf(pair));
    assert.equal(await readAll(written.getReader()), expected);
    assert.match(expected, /error/);
  });
}

const PAIR: Pair = { from: "messages", to: "chat" };

/** A body under the control of a test. */
function openBody() {
  let source: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  const seen = { pulls: 0, cancels: 0 };
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      source = controller;
    },
    pull: () => void seen.pulls++,
    cancel() {
      seen.cancels++;
      cancelled.resolve();
    },
  }, { highWaterMark: 0 });
  return {
    body,
    seen,
    cancelled: cancelled.promise,
    enqueue: (bytes: Uint8Array<ArrayBuffer>) => source.enqueue(bytes),
  };
}

Deno.test("answerStream() cancels the upstream's silent body when the caller cancels", async () => {
  const { body, cancelled } = openBody();
  const reader = body.pipeThrough(transformOf(PAIR)).getReader();
  const read = reader.read();
  await reader.cancel("gone");
  assert.equal((await within(read, "the read")).done, true);
  await within(cancelled, "the body to be cancelled");
});

Deno.test("answerStream() cancels an upstream's body that continues after the answer's end", async () => {
  const { body, cancelled, enqueue } = openBody();
  const written = readAll(
    body.pipeThrough(transformOf(PAIR)).getReader(),
  );
  enqueue(streamOf("chat", 0));
  assert.match(await written, /event: message_stop/);
  await within(cancelled, "the body to be cancelled");
});

Deno.test("answerStream() reads the upstream's body only as fast as the caller reads", async () => {
  const { body, seen, enqueue } = openBody();
  const readable = body.pipeThrough(transformOf(PAIR));
  const delta = sseBytes({
    ...{ id: "c", created: 1, model: "m" },
    choices: [{ index: 0, delta: { content: "word " } }],
  });
  for (let count = 0; count < 100; count++) enqueue(delta);
  await new Promise((resolve) => setTimeout(resolve));
  // Each stream on the way may hold one chunk.
  assert.ok(seen.pulls <= 4, `${seen.pulls} pulls`);
  const reader = readable.getReader();
  await within(reader.read(), "a chunk");
  await reader.cancel();
});

Deno.test("answerStream() ends the answer with a failure after a bug of the gateway", async () => {
  const ids = {
    next() {
      throw new TypeError("a fault");
    },
  };
  const broken = transformOf({ from: "responses", to: "chat" }, ids);
  const { body, cancelled, enqueue } = openBody();
  const written = readAll(body.pipeThrough(broken).getReader());
  enqueue(streamOf("chat", 0));
  assert.match(await written, /^event: response\.failed\n.*broke off/m);
  await within(cancelled, "the body to be cancelled");
});

Deno.test("answer() translates a JSON answer for the request's caller", () => {
  const request = new TextEncoder().encode(JSON.stringify({
    ...REQUESTS.chat,
    stream: false,
    seed: 1,
  }));
  const translation = translateRequest(request, {
    ...{ from: "chat", to: "messages" },
    target: { service: "anthropic", model: "claude-sonnet-4-5" },
  });
  assert.deepEqual([...translation.dropped], ["seed"]);
  assert.equal(translation.body.model, "claude-sonnet-4-5");
  const bytes = translation.answer(
    new TextEncoder().encode(JSON.stringify({
      ...{ id: "msg_1", type: "message", role: "assistant" },
      ...{ model: "claude-sonnet-4-5", stop_reason: "end_turn" },
      content: [{ type: "text", text: "Hi" }],
      usage: { input_tokens: 1, output_tokens: 1 },
    })),
    { ids: counterIds(), now },
  );
  const answer = JSON.parse(new TextDecoder().decode(bytes));
  assert.equal(answer.object, "chat.completion");
  assert.equal(answer.choices[0].message.content, "Hi");
  assert.throws(
    () =>
      translateRequest(new TextEncoder().encode("[]"), {
        ...{ from: "chat", to: "messages", target: TARGET },
      }),
    /not exactly one JSON object/,
  );
});
