import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/deadlines.ts";
import { GatewayError } from "../../src/core/error.ts";
import { CallerLeft } from "../../src/upstream/call.ts";
import {
  readAnswerBytes,
  readAnswerJson,
} from "../../src/upstream/read_answer.ts";
import { createFakeTimers } from "../support/fake_timers.ts";
import { settle } from "../support/settle.ts";

function begin() {
  const timers = createFakeTimers();
  const controller = new AbortController();
  const options = {
    maxBytes: 100,
    deadlines: createDeadlines(timers),
    withinMs: 1000,
    controller,
  };
  return { timers, controller, options };
}

/** An answer whose body comes only when its exchange is aborted, and fails then. */
function silentAnswer({ signal }: AbortController): Response {
  return new Response(
    new ReadableStream({
      start(stream) {
        signal.addEventListener("abort", () => stream.error(signal.reason));
      },
    }),
  );
}

function isBroken(reason: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof GatewayError && error.code === "upstream_broken" &&
    reason.test(error.message);
}

Deno.test("readAnswerJson() gives the value, or nothing where there is none", async () => {
  const { options, timers } = begin();
  const cases = [
    ['{"a":[1]}', { a: [1] }],
    ["null", null],
    ["", undefined],
    ["<html>", undefined],
  ] as const;
  for (const [text, expected] of cases) {
    const given = await readAnswerJson(new Response(text), options);
    assert.deepEqual(given, expected);
  }
  assert.equal(timers.running, 0);
});

Deno.test("readAnswerBytes() reads up to so many bytes", async () => {
  const { options } = begin();
  const body = (length: number) => new Response(new Uint8Array(length));
  assert.equal((await readAnswerBytes(body(100), options)).length, 100);
  await assert.rejects(
    readAnswerBytes(body(101), options),
    isBroken(/it is too long/),
  );
  assert.equal((await readAnswerBytes(new Response(null), options)).length, 0);
});

Deno.test("readAnswerBytes() says that an answer broke off", async () => {
  const { options, timers } = begin();
  const cause = new TypeError("error reading a body from connection");
  const answer = new Response(
    new ReadableStream({ start: (stream) => stream.error(cause) }),
  );
  await assert.rejects(
    readAnswerBytes(answer, options),
    isBroken(/its answer broke off/),
  );
  assert.equal(timers.running, 0);
});

Deno.test("readAnswerBytes() gives an answer up that does not come in time", async () => {
  const { options, timers, controller } = begin();
  const reading = readAnswerBytes(silentAnswer(controller), options);
  await settle();
  timers.advance(1000);
  await assert.rejects(reading, (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, "upstream_timeout");
    return true;
  });
  assert.equal(controller.signal.aborted, true);
});

Deno.test("readAnswerBytes() throws why the exchange was ended", async () => {
  const { options, timers, controller } = begin();
  const reading = readAnswerBytes(silentAnswer(controller), options);
  await settle();
  controller.abort(new CallerLeft());
  await assert.rejects(reading, CallerLeft);
  assert.equal(timers.running, 0);
});
