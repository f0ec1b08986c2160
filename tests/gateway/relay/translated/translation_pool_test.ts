import assert from "node:assert/strict";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { createTranslationPool } from "../../../../src/gateway/relay/translated/translation_pool.ts";
import {
  receivedError,
  sentError,
  type ThreadReport,
} from "../../../../src/gateway/relay/translated/translation_thread.ts";
import { createFakeThreads } from "../../../support/fakes/fake_translation_threads.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { settle } from "../../../support/settle.ts";
import { attemptFailureOf } from "../../../../src/gateway/relay/attempt_failure.ts";
import {
  brokenUpstream,
  oversized,
} from "../../../../src/gateway/upstream/failure.ts";
import { targetOf } from "../../../support/dialects/targets.ts";

const { signal: NEVER } = new AbortController();

const ORDER = {
  kind: "request",
  job: {
    body: new Uint8Array([1]),
    operation: "messages",
    model: "m",
    stream: false,
    to: "chat",
    target: targetOf("custom", "m"),
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
    lessons: [],
    recallable: new Set<string>(),
    refused: new Set<string>(),
  },
} as const;

const DONE: ThreadReport = {
  kind: "failed",
  error: { type: "unforeseen", name: "Error" },
};

function begin(maxThreads = 1) {
  const timers = createFakeTimers();
  const fake = createFakeThreads();
  const pool = createTranslationPool({
    startThread: fake.start,
    maxThreads,
    deadlines: createDeadlines(timers),
  });
  return { ...fake, pool, timers };
}

function isBroken(error: unknown): boolean {
  return error instanceof GatewayError && error.status === 500 &&
    error.code === "translation_failed";
}

Deno.test("createTranslationPool() starts a thread for the first job, and reuses it", async () => {
  const { pool, threads, timers } = begin(4);
  assert.equal(threads.length, 0);
  for (let round = 0; round < 3; round++) {
    const place = await pool.enter(NEVER);
    const running = place.run(ORDER);
    assert.deepEqual(threads[0]?.orders.at(-1), ORDER);
    threads[0]?.report(DONE);
    assert.deepEqual(await running, DONE);
    place.leave();
  }
  assert.equal(threads.length, 1);
  pool.close();
  assert.ok(threads[0]?.isEnded);
  assert.equal(timers.running, 0);
});

Deno.test("createTranslationPool() ends a thread after an idle minute, and starts another when needed", async () => {
  const { pool, threads, timers } = begin();
  (await pool.enter(NEVER)).leave();
  timers.advance(59_999);
  const place = await pool.enter(NEVER);
  timers.advance(60_000);
  assert.equal(threads[0]?.isEnded, false);
  place.leave();
  timers.advance(60_000);
  assert.equal(threads[0]?.isEnded, true);
  await pool.enter(NEVER);
  assert.equal(threads.length, 2);
  assert.equal(timers.running, 0);
  pool.close();
});

Deno.test("createTranslationPool() makes jobs wait in order when all threads work", async () => {
  const { pool, threads } = begin(2);
  const first = await pool.enter(NEVER);
  await pool.enter(NEVER);
  const entered: string[] = [];
  const leaver = new AbortController();
  const waiting = ["third", "leaver", "fifth"].map(async (name) => {
    const signal = name === "leaver" ? leaver.signal : NEVER;
    const place = await pool.enter(signal);
    entered.push(name);
    return place;
  });
  await settle();
  assert.deepEqual(entered, []);
  leaver.abort("left");
  await assert.rejects(
    async () => await waiting[1],
    (reason) => reason === "left",
  );
  first.leave();
  first.leave();
  await settle();
  assert.deepEqual(entered, ["third"]);
  (await waiting[0])?.leave();
  await settle();
  assert.deepEqual(entered, ["third", "fifth"]);
  assert.equal(threads.length, 2);
  pool.close();
});

Deno.test("createTranslationPool() rejects a job when 256 wait", async () => {
  const { pool } = begin();
  const place = await pool.enter(NEVER);
  const leaver = new AbortController();
  const waiting = Array.from(
    { length: 256 },
    () => pool.enter(leaver.signal).catch((reason) => reason),
  );
  await assert.rejects(pool.enter(NEVER), (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.status, 503);
    assert.equal(error.headers["retry-after"], "1");
    return true;
  });
  leaver.abort("left");
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["left"]));
  place.leave();
  pool.close();
});

Deno.test("createTranslationPool() ends a thread when its caller disconnects, and starts another for the next job", async () => {
  const { pool, threads, timers } = begin();
  const leaver = new AbortController();
  const place = await pool.enter(leaver.signal);
  const running = place.run(ORDER);
  const next = pool.enter(NEVER);
  leaver.abort("left");
  await assert.rejects(running, (reason) => reason === "left");
  assert.equal(threads[0]?.isEnded, true);
  place.leave();
  await next;
  assert.equal(threads.length, 2);
  assert.equal(timers.running, 0);
  await assert.rejects(
    pool.enter(AbortSignal.abort("gone")),
    (reason) => reason === "gone",
  );
  pool.close();
});

Deno.test("createTranslationPool() answers only the request of a dead thread with a 500", async () => {
  const { pool, threads, timers } = begin(2);
  const [one, other] = [await pool.enter(NEVER), await pool.enter(NEVER)];
  const [broken, good] = [one.run(ORDER), other.run(ORDER)];
  threads[0]?.report({ kind: "died" });
  await assert.rejects(broken, isBroken);
  threads[1]?.report(DONE);
  assert.deepEqual(await good, DONE);
  one.leave();
  other.leave();
  const [third, fourth] = [await pool.enter(NEVER), await pool.enter(NEVER)];
  assert.equal(threads.length, 3);
  third.leave();
  fourth.leave();
  // A thread that dies while idle is removed.
  threads[2]?.report({ kind: "died" });
  await pool.enter(NEVER);
  await pool.enter(NEVER);
  assert.equal(threads.length, 4);
  assert.equal(timers.running, 0);
  pool.close();
});

Deno.test("createTranslationPool() ends a job that takes two minutes", async () => {
  const { pool, threads, timers } = begin();
  const running = (await pool.enter(NEVER)).run(ORDER);
  timers.advance(119_999);
  assert.equal(threads[0]?.isEnded, false);
  timers.advance(1);
  await assert.rejects(running, isBroken);
  assert.equal(threads[0]?.isEnded, true);
  pool.close();
});

Deno.test("createTranslationPool() sends the kept reasoning that a thread requests", async () => {
  const { pool, threads } = begin();
  const place = await pool.enter(NEVER);
  const thoughts = { pieces: [{ kind: "call", id: "call_1" }] } as const;
  const reasoning = new Map([["call_1", thoughts]]);
  const running = place.run(ORDER, (callIds) => {
    assert.deepEqual(callIds, ["call_1"]);
    return reasoning;
  });
  threads[0]?.report({ kind: "recall", callIds: ["call_1"] });
  await settle();
  assert.deepEqual(threads[0]?.orders.at(-1), { kind: "recalled", reasoning });
  threads[0]?.report(DONE);
  await running;
  place.leave();
  pool.close();
});

Deno.test("createTranslationPool() rejects running, waiting and new jobs when it is closed", async () => {
  const { pool, threads, timers } = begin();
  const place = await pool.enter(NEVER);
  const broken = [place.run(ORDER), pool.enter(NEVER)]
    .map((work) => assert.rejects(work, isBroken));
  pool.close();
  await Promise.all(broken);
  place.leave();
  await assert.rejects(pool.enter(NEVER), isBroken);
  assert.equal(threads.length, 1);
  assert.equal(threads[0]?.isEnded, true);
  assert.equal(timers.running, 0);
});

Deno.test("receivedError() restores a failure of an upstream that a thread sent", () => {
  for (const error of [brokenUpstream("it is not JSON"), oversized()]) {
    const received = receivedError(structuredClone(sentError(error)));
    assert.ok(received instanceof GatewayError);
    assert.equal(received.message, error.message);
    assert.equal(received.kind, error.kind);
    assert.equal(received.code, error.code);
    assert.equal(attemptFailureOf(received)?.kind, error.failureKind);
  }
});

Deno.test("receivedError() does not turn an error of the gateway into a failure of an upstream", () => {
  const error = new GatewayError("internal", "m", { code: "upstream_broken" });
  const received = receivedError(structuredClone(sentError(error)));
  assert.equal(attemptFailureOf(received), undefined);
});
