import { toResponse } from "../../../../src/gateway/http/gateway.ts";
import { CallerLeft } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import { NativeAttempt } from "../../../../src/gateway/relay/native/relay_native.ts";
import { createHarvest } from "../../../../src/gateway/quotas/harvest.ts";
import {
  openTestAttempt,
  type TestAttempt,
  type TestAttemptOptions,
} from "../../../support/gateway/attempt.ts";
import { createFakeClock } from "../../../support/fakes/fake_clock.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../../support/fakes/fake_timers.ts";
import { settle } from "../../../support/settle.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";
import { steps } from "../../../support/steps.ts";

interface Scene extends TestAttempt {
  readonly timers: FakeTimers;
  pass(answer: Response): Promise<Response>;
}

async function begin(options: TestAttemptOptions = {}): Promise<Scene> {
  const opened = await openTestAttempt(options);
  const timers = createFakeTimers();
  const clock = createFakeClock(0);
  const native = new NativeAttempt(opened.attempt, {
    client: { send: () => Promise.reject(new Error("It was to send nothing")) },
    harvest: createHarvest({ clock }),
    deadlines: createDeadlines(timers),
    clock,
    codexQuota: { headersOf: () => [] },
  });
  return {
    ...opened,
    timers,
    pass: async (answer) =>
      toResponse(
        await native.answer(answer, [["x-upstream", "1"]]),
      ),
  };
}

/** Opens an answer that the test writes. */
function openAnswer(headers: Readonly<Record<string, string>>): {
  readonly answer: Response;
  readonly source: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
} {
  let source:
    | ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>
    | undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => void (source = controller),
  });
  assert.ok(source);
  return { answer: new Response(body, { headers }), source };
}

const EVENTS = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };
const DELTA = sseBytes({ choices: [{ delta: { content: "a" } }] });
const DONE = sseBytes("[DONE]");

const encoder = new TextEncoder();

Deno.test("a native attempt returns a short JSON answer in one piece", async () => {
  const { pass, record, ended } = await begin();
  const text =
    '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}';
  const given = await pass(
    new Response(text, {
      status: 201,
      headers: { ...JSON_TYPE, "content-length": String(text.length) },
    }),
  );
  assert.equal(ended(), undefined, "the relay ends a whole answer");
  assert.equal(given.status, 201);
  assert.equal(given.headers.get("x-upstream"), "1");
  assert.equal(await given.text(), text);
  assert.equal(record.facts.status, 201);
  assert.equal(record.facts.bytesOut, text.length);
  assert.equal(record.facts.answer.usage?.outputTokens, 2);
});

Deno.test("a native attempt passes a JSON answer in pieces if it is long, compressed or of unknown length", async (t) => {
  const cases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "without a length": JSON_TYPE,
    "that is long": { ...JSON_TYPE, "content-length": String(64 * 1024 + 1) },
    "that is compressed": {
      ...JSON_TYPE,
      "content-length": "10",
      "content-encoding": "gzip",
    },
    "whose length is no number": { ...JSON_TYPE, "content-length": "x" },
  };
  await steps(t, Object.entries(cases), async ([, headers]) => {
    const { pass, record, ended } = await begin();
    const { answer, source } = openAnswer(headers);
    const given = await pass(answer);
    assert.equal(ended(), undefined);
    source.enqueue(encoder.encode('{"usage":'));
    source.enqueue(encoder.encode('{"prompt_tokens":7}}'));
    source.close();
    assert.equal(await given.text(), '{"usage":{"prompt_tokens":7}}');
    assert.equal(ended(), "complete");
    assert.equal(record.facts.answer.usage?.inputTokens, 7);
  });
});

Deno.test("a native attempt records the side that aborted an exchange", async (t) => {
  const cases = [
    ["the caller", new CallerLeft(), DELTA, "client_abort"],
    ["the caller, after the last event", new CallerLeft(), DONE, "complete"],
    ["the gateway", new GatewayError("overloaded", "stop"), DELTA, "error"],
  ] as const;
  await steps(t, cases, async ([, reason, last, expected]) => {
    const { pass, attempt, ended } = await begin();
    const { answer, source } = openAnswer(EVENTS);
    const { signal } = attempt.controller;
    signal.addEventListener("abort", () => source.error(signal.reason));
    const reader = (await pass(answer)).body?.getReader();
    source.enqueue(last);
    await reader?.read();
    attempt.controller.abort(reason);
    await assert.rejects(async () => await reader?.read());
    assert.equal(ended(), expected);
  });
});

const SHORT = { ...JSON_TYPE, "content-length": "100" };

Deno.test("a native attempt throws when a short answer is silent for too long", async () => {
  const { pass, attempt, timers } = await begin();
  const { answer, source } = openAnswer(SHORT);
  const { signal } = attempt.controller;
  signal.addEventListener("abort", () => source.error(signal.reason));
  const passing = pass(answer);
  await settle();
  timers.advance(100);
  await assert.rejects(passing, (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, "upstream_timeout");
    return true;
  });
});

Deno.test("a native attempt throws the reason when a short answer is aborted", async () => {
  const { pass, attempt, timers } = await begin();
  const { answer, source } = openAnswer(SHORT);
  const { signal } = attempt.controller;
  signal.addEventListener("abort", () => source.error(signal.reason));
  const passing = pass(answer);
  await settle();
  attempt.controller.abort(new CallerLeft());
  await assert.rejects(passing, CallerLeft);
  assert.equal(timers.running, 0);
});

Deno.test("a native attempt throws when the answer is an error about the gateway's key, even on the last attempt", async () => {
  const text = '{"error":{"message":"wrong key","code":"invalid_api_key"}}';
  const { pass, ended } = await begin({ mayRepeat: false });
  const answer = new Response(text, {
    headers: { ...JSON_TYPE, "content-length": String(text.length) },
  });
  await assert.rejects(pass(answer), UpstreamFailure);
  assert.equal(ended(), undefined);
});
