import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import {
  createBodyMemory,
  type MemoryOfOthers,
  type MemoryShare,
} from "../../../src/relay/request/body_memory.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { settle } from "../../support/settle.ts";

const { signal: NEVER } = new AbortController();

/** The error for what finds no memory, in the words of every caller's protocol. */
function isFull(error: unknown): boolean {
  return error instanceof GatewayError && error.kind === "overloaded" &&
    error.headers["retry-after"] === "1" && /no memory/.test(error.message);
}

/** What became of a promise so far. */
function follow(promise: Promise<unknown>): { state: string } {
  const followed = { state: "waits" };
  promise.then(
    () => followed.state = "granted",
    (error) => followed.state = isFull(error) ? "full" : String(error),
  );
  return followed;
}

function open(maxBytes: number): {
  readonly memory: ReturnType<typeof createBodyMemory>;
  share(): MemoryShare;
} {
  const memory = createBodyMemory();
  return { memory, share: () => memory.open(maxBytes) };
}

Deno.test("createBodyMemory() gives out what there is, and no byte more", () => {
  const { memory, share } = open(100);
  const first = share();
  const second = share();
  first.take(60);
  second.take(40);
  assert.throws(() => second.take(1), isFull);
  assert.equal(memory.usedBytes, 100);
  first.give(10);
  second.take(10);
  assert.equal(memory.usedBytes, 100);
});

Deno.test("createBodyMemory() gets back what a request took when its share is closed, once", () => {
  const { memory, share } = open(100);
  const one = share();
  one.take(60);
  one.give(20);
  one.give(1000);
  assert.equal(memory.usedBytes, 0);
  one.take(30);
  one.close();
  one.close();
  one.take(90);
  one.give(90);
  assert.equal(memory.usedBytes, 0);
});

Deno.test("createBodyMemory() goes by the bound of each request, whatever is configured meanwhile", () => {
  const memory = createBodyMemory();
  memory.open(100).take(80);
  assert.throws(() => memory.open(50).take(1), isFull);
  memory.open(200).take(100);
  assert.equal(memory.usedBytes, 180);
});

Deno.test("createBodyMemory() lends what work takes, and leaves its result with it", async () => {
  const { memory, share } = open(100);
  const one = share();
  one.take(20);
  const loan = await one.borrow(80, NEVER);
  assert.equal(memory.usedBytes, 100);
  loan.keep(25);
  assert.equal(memory.usedBytes, 45);
  loan.keep(30);
  assert.equal(memory.usedBytes, 45);
  loan.end();
  loan.end();
  assert.equal(memory.usedBytes, 20);
  one.close();
  assert.equal(memory.usedBytes, 0);
});

Deno.test("createBodyMemory() lets work wait for work that runs, in the order in which it came", async () => {
  const { share } = open(100);
  const running = await share().borrow(60, NEVER);
  const large = share().borrow(90, NEVER);
  const small = share().borrow(10, NEVER);
  const [followed, behind] = [follow(large), follow(small)];
  await settle();
  assert.deepEqual([followed.state, behind.state], ["waits", "waits"]);
  running.end();
  await settle();
  assert.deepEqual([followed.state, behind.state], ["granted", "granted"]);
});

Deno.test("createBodyMemory() turns work away that nothing running makes room for", async () => {
  const { memory, share } = open(100);
  const held = share();
  held.take(50);
  await assert.rejects(share().borrow(60, NEVER), isFull);
  const running = await share().borrow(40, NEVER);
  const waiting = [60, 90, 45].map((bytes) =>
    follow(share().borrow(bytes, NEVER))
  );
  await settle();
  assert.deepEqual(waiting.map(({ state }) => state), [
    "waits",
    "waits",
    "waits",
  ]);
  running.end();
  await settle();
  assert.deepEqual(waiting.map(({ state }) => state), [
    "full",
    "full",
    "granted",
  ]);
  assert.equal(memory.usedBytes, 95);
});

Deno.test("createBodyMemory() lends to those who wait when another body is let go, or one of them leaves", async () => {
  const { share } = open(100);
  const held = share();
  held.take(50);
  await share().borrow(40, NEVER);
  const controller = new AbortController();
  const leaving = follow(share().borrow(70, controller.signal));
  const behind = follow(share().borrow(10, NEVER));
  await settle();
  assert.deepEqual([leaving.state, behind.state], ["waits", "waits"]);
  controller.abort("left");
  await settle();
  assert.deepEqual([leaving.state, behind.state], ["left", "granted"]);
  const next = follow(share().borrow(50, NEVER));
  await settle();
  assert.equal(next.state, "waits");
  held.close();
  await settle();
  assert.equal(next.state, "granted");
});

Deno.test("createBodyMemory() lends nothing to whom has left before", async () => {
  const { memory, share } = open(100);
  const gone = AbortSignal.abort("left");
  await assert.rejects(
    share().borrow(1, gone),
    (reason) => reason === "left",
  );
  assert.equal(memory.usedBytes, 0);
});

/** Another thread that holds what the test says, and what it was told of this one. */
function another(usedBytes: number, running = 0) {
  const other = { usedBytes, running, told: [0, 0] };
  const others: MemoryOfOthers = {
    usedBytes: () => other.usedBytes,
    running: () => other.running,
    publish: (...own) => void (other.told = own),
  };
  const timers = createFakeTimers();
  const memory = createBodyMemory(others, createDeadlines(timers));
  return { other, timers, memory, share: () => memory.open(100) };
}

Deno.test("createBodyMemory() leaves others what they hold, and tells them what it holds itself", async () => {
  const { other, memory, share } = another(60);
  const one = share();
  one.take(40);
  assert.deepEqual(other.told, [40, 0]);
  assert.throws(() => one.take(1), isFull);
  assert.equal(memory.usedBytes, 40);
  assert.deepEqual(other.told, [40, 0]);
  one.give(30);
  const loan = await share().borrow(20, NEVER);
  assert.deepEqual(other.told, [30, 1]);
  loan.end();
  assert.deepEqual(other.told, [10, 0]);
});

Deno.test("createBodyMemory() lets work wait for work of others, who do not say when they are done", async () => {
  const { other, timers, share } = another(60, 1);
  const waiting = follow(share().borrow(50, NEVER));
  await settle();
  assert.equal(waiting.state, "waits");
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "waits");
  Object.assign(other, { usedBytes: 0, running: 0 });
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "granted");
  assert.equal(timers.running, 0);
});

Deno.test("createBodyMemory() turns work away once others hold memory that no work of theirs gives back", async () => {
  const { other, timers, share } = another(60, 1);
  const waiting = follow(share().borrow(50, NEVER));
  await settle();
  other.running = 0;
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "full");
});
