import { CallerLeft } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../src/base/error.ts";
import {
  readErrorBytes,
  readResponseBytes,
} from "../../../src/gateway/upstream/read_response.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { settle } from "../../support/settle.ts";
import { steps } from "../../support/steps.ts";

function begin() {
  const timers = createFakeTimers();
  const controller = new AbortController();
  const options = {
    maxBytes: 100,
    deadlines: createDeadlines(timers),
    idleMs: 1000,
    controller,
  };
  return { timers, controller, options };
}

/** Returns a response whose body is silent, and fails when its exchange is aborted. */
function silentAnswer({ signal }: AbortController): Response {
  return new Response(
    new ReadableStream({
      start(stream) {
        signal.addEventListener("abort", () => stream.error(signal.reason));
      },
    }),
  );
}

/** Returns a response of this many bytes. */
function answerOf(length: number): Response {
  return new Response(new Uint8Array(length).fill(0x20));
}

Deno.test("readResponseBytes() returns the body up to a maximum length", async () => {
  const { options, timers } = begin();
  const text = new TextEncoder().encode("é");
  assert.deepEqual(await readResponseBytes(new Response("é"), options), text);
  assert.equal((await readResponseBytes(answerOf(100), options))?.length, 100);
  assert.equal(await readResponseBytes(answerOf(101), options), undefined);
  assert.equal(timers.running, 0);
});

/** Returns a response that stays open after its last byte, like one of `fetch` before it has read the end. */
function openAnswer(text: string, headers: Readonly<Record<string, string>>) {
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({
    start: (source) => source.enqueue(new TextEncoder().encode(text)),
    cancel: () => cancelled.resolve(),
  });
  return { answer: new Response(body, { headers }), cancelled };
}

Deno.test("readResponseBytes() does not wait for the end of a body that has its declared length", async () => {
  const { options, timers } = begin();
  const { answer, cancelled } = openAnswer("hello", { "content-length": "5" });
  const read = await readResponseBytes(answer, options);
  assert.equal(new TextDecoder().decode(read), "hello");
  await cancelled.promise;
  assert.equal(timers.running, 0);
});

Deno.test("readResponseBytes() waits for the end when the declared length differs from the received bytes", async (t) => {
  const cases = {
    "a body that is incomplete": { "content-length": "6" },
    "a body longer than declared": { "content-length": "4" },
    "a compressed body": { "content-length": "5", "content-encoding": "gzip" },
    "without a length": {},
    "a length of 0": { "content-length": "0" },
  };
  await steps(t, Object.entries(cases), async ([, headers]) => {
    const { options, timers } = begin();
    const { answer } = openAnswer("hello", headers);
    const reading = readResponseBytes(answer, options);
    await settle();
    timers.advance(options.idleMs);
    await assert.rejects(reading, { code: "upstream_timeout" });
  });
});

/** Returns a response with a byte stream, like one of `fetch`, and a declared length. */
function bytesAnswer(length: number) {
  let source: ReadableByteStreamController | undefined;
  const cancels: unknown[] = [];
  const body = new ReadableStream({
    type: "bytes",
    start: (itsController) => void (source = itsController),
    cancel: (reason) => void cancels.push(reason),
  });
  assert.ok(source);
  const headers = { "content-length": String(length) };
  return { answer: new Response(body, { headers }), source, cancels };
}

Deno.test("readResponseBytes() reads a body with a length in pieces, at any speed", async () => {
  const { options, timers } = begin();
  const { answer, source, cancels } = bytesAnswer(6);
  const reading = readResponseBytes(answer, options);
  for (const piece of ["ab", "c", "def"]) {
    await settle();
    timers.advance(options.idleMs - 1);
    source.enqueue(new TextEncoder().encode(piece));
  }
  assert.equal(new TextDecoder().decode(await reading), "abcdef");
  assert.equal(cancels.length, 1);
  assert.equal(timers.running, 0);
});

Deno.test("readResponseBytes() returns the bytes of a body that is shorter than declared", async () => {
  const { options, timers } = begin();
  const { answer, source } = bytesAnswer(6);
  const reading = readResponseBytes(answer, options);
  await settle();
  source.enqueue(new TextEncoder().encode("abc"));
  await settle();
  source.close();
  assert.equal(new TextDecoder().decode(await reading), "abc");
  assert.equal(timers.running, 0);
});

Deno.test("readResponseBytes() rejects an incomplete body with a length", async (t) => {
  await t.step("when the upstream falls silent", async () => {
    const { options, timers, controller } = begin();
    const { answer, source, cancels } = bytesAnswer(6);
    const reading = readResponseBytes(answer, options);
    await settle();
    source.enqueue(new TextEncoder().encode("abc"));
    await settle();
    timers.advance(options.idleMs);
    await assert.rejects(reading, { code: "upstream_timeout" });
    assert.equal(cancels.length, 1);
    assert.equal(controller.signal.aborted, true);
  });
  await t.step("when the exchange is aborted", async () => {
    const { options, timers, controller } = begin();
    const { answer, cancels } = bytesAnswer(6);
    const reading = readResponseBytes(answer, options);
    await settle();
    const left = new CallerLeft("gone");
    controller.abort(left);
    await assert.rejects(reading, left);
    assert.deepEqual(cancels, [left]);
    assert.equal(timers.running, 0);
  });
  await t.step("when it breaks off", async () => {
    const { options, timers } = begin();
    const { answer, source } = bytesAnswer(6);
    const reading = readResponseBytes(answer, options);
    await settle();
    source.error(new TypeError("connection reset"));
    await assert.rejects(reading, { code: "upstream_broken" });
    assert.equal(timers.running, 0);
  });
});

Deno.test("readErrorBytes() returns undefined for an error that is too long", async () => {
  const { options, timers } = begin();
  const most = 256 * 1024;
  const lengthOf = async (answer: Response) =>
    (await readErrorBytes(answer, options))?.length;
  assert.equal(await lengthOf(answerOf(most)), most);
  assert.equal(await lengthOf(answerOf(most + 1)), undefined);
  assert.equal(await lengthOf(new Response(null)), 0);
  assert.equal(timers.running, 0);
});

Deno.test("readErrorBytes() returns undefined for an error that breaks off", async () => {
  const { options, timers } = begin();
  const cause = new TypeError("error reading a body from connection");
  const answer = new Response(
    new ReadableStream({ start: (stream) => stream.error(cause) }),
  );
  assert.equal(await readErrorBytes(answer, options), undefined);
  assert.equal(timers.running, 0);
});

Deno.test("readErrorBytes() returns undefined for an error that falls silent", async () => {
  const { options, timers, controller } = begin();
  const reading = readErrorBytes(silentAnswer(controller), options);
  await settle();
  timers.advance(1000);
  assert.equal(await reading, undefined);
  assert.equal(controller.signal.aborted, true);
});

Deno.test("readErrorBytes() throws the reason when the exchange is aborted", async () => {
  const { options, timers, controller } = begin();
  const reading = readErrorBytes(silentAnswer(controller), options);
  await settle();
  controller.abort(new CallerLeft());
  await assert.rejects(reading, CallerLeft);
  assert.equal(timers.running, 0);
});

/** Returns a response whose bytes the test sends one by one. */
function drippingAnswer({ signal }: AbortController) {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const answer = new Response(
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        stream = controller;
        signal.addEventListener("abort", () => {
          stream = undefined;
          controller.error(signal.reason);
        });
      },
    }),
  );
  return {
    answer,
    async drip(timers: ReturnType<typeof createFakeTimers>, ms: number) {
      await settle();
      timers.advance(ms);
      stream?.enqueue(Uint8Array.of(0x20));
      await settle();
    },
  };
}

Deno.test("readErrorBytes() returns undefined for an error that is incomplete after 30 seconds", async () => {
  const { options, timers, controller } = begin();
  const { answer, drip } = drippingAnswer(controller);
  const reading = readErrorBytes(answer, options);
  for (let count = 0; count < 37; count++) await drip(timers, 800);
  assert.equal(controller.signal.aborted, false);
  await drip(timers, 800);
  assert.equal(await reading, undefined);
  assert.equal(controller.signal.aborted, true);
  assert.equal(timers.running, 0);
});

Deno.test("readResponseBytes() waits for a slow answer as long as bytes arrive", async () => {
  const { options, timers, controller } = begin();
  const { answer, drip } = drippingAnswer(controller);
  const reading = readResponseBytes(answer, options);
  for (let count = 0; count < 90; count++) await drip(timers, 999);
  assert.equal(controller.signal.aborted, false);
  timers.advance(1000);
  await assert.rejects(reading, (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, "upstream_timeout");
    return true;
  });
});
