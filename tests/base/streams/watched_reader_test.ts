import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { ByteReader } from "../../../src/base/streams/byte_reader.ts";
import {
  createIdleWatch,
  IdleError,
  WatchedReader,
} from "../../../src/base/streams/watched_reader.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { settle } from "../../support/settle.ts";

interface Scene {
  readonly timers: FakeTimers;
  readonly source: ReadableStreamDefaultController<Uint8Array>;
  readonly reader: ByteReader;
  readonly controller: AbortController;
  /** The reason of each cancellation of the source. */
  readonly cancels: readonly unknown[];
}

function begin(
  { idleMs = 100, controller = new AbortController() }: {
    readonly idleMs?: number;
    readonly controller?: AbortController;
  } = {},
): Scene {
  const timers = createFakeTimers();
  const cancels: unknown[] = [];
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (itsController) => void (source = itsController),
    cancel: (reason) => void cancels.push(reason),
  }, { highWaterMark: 0 });
  assert.ok(source);
  const reader = new WatchedReader(body.getReader(), {
    deadlines: createDeadlines(timers),
    idleMs,
    signal: controller.signal,
  });
  return { timers, source, reader, controller, cancels };
}

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("a watched reader returns each chunk unchanged, and leaves no timer at the end", async () => {
  const { source, reader, timers, cancels } = begin();
  const chunk = bytes("a");
  source.enqueue(chunk);
  assert.equal((await reader.read()).value, chunk);
  source.close();
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(cancels, []);
  assert.equal(timers.running, 0);
});

Deno.test("a watched reader cancels a source that is silent during a read", async () => {
  const { source, reader, timers, cancels } = begin();
  source.enqueue(bytes("a"));
  await reader.read();
  const reading = reader.read();
  timers.advance(99);
  assert.deepEqual(cancels, []);
  timers.advance(1);
  await assert.rejects(reading, IdleError);
  await assert.rejects(reader.read(), /fell silent/);
  assert.equal(cancels.length, 1);
  assert.equal(timers.running, 0);
});

Deno.test("a watched reader restarts its idle timeout at an empty chunk", async () => {
  const { source, reader, timers, cancels } = begin();
  for (let count = 0; count < 3; count++) {
    const reading = reader.read();
    timers.advance(60);
    source.enqueue(bytes(""));
    assert.equal((await reading).value?.length, 0);
  }
  assert.deepEqual(cancels, []);
  await reader.cancel();
});

Deno.test("a watched reader does not count time without a read", async () => {
  const { source, reader, timers } = begin();
  source.enqueue(bytes("a"));
  await reader.read();
  timers.advance(10_000);
  source.enqueue(bytes("b"));
  assert.deepEqual((await reader.read()).value, bytes("b"));
  await reader.cancel();
});

Deno.test("a watched reader drops a chunk that arrives with its timeout", async () => {
  const { source, reader, timers } = begin();
  const reading = reader.read();
  await settle();
  source.enqueue(bytes("late"));
  timers.advance(100);
  await assert.rejects(reading, IdleError);
});

Deno.test("a watched reader waits forever when its idle timeout is 0", async () => {
  const { source, reader, timers } = begin({ idleMs: 0 });
  const reading = reader.read();
  timers.advance(1e9);
  source.enqueue(bytes("a"));
  assert.deepEqual((await reading).value, bytes("a"));
});

Deno.test("a watched reader forwards the error of its source, and leaves no timer", async () => {
  const { source, reader, timers } = begin();
  const reading = reader.read();
  await settle();
  source.error(new TypeError("connection reset"));
  await assert.rejects(reading, /connection reset/);
  assert.equal(timers.running, 0);
});

Deno.test("a watched reader ends when its signal aborts, even if its source does not react", async (t) => {
  const left = new Error("shutting down");
  await t.step("while it is read", async () => {
    const { reader, controller, cancels, timers } = begin();
    const reading = reader.read();
    await settle();
    controller.abort(left);
    await assert.rejects(reading, left);
    assert.deepEqual(cancels, [left]);
    assert.equal(timers.running, 0);
  });
  await t.step("before it is read", async () => {
    const controller = new AbortController();
    controller.abort(left);
    const { reader, cancels } = begin({ controller });
    await assert.rejects(reader.read(), left);
    assert.deepEqual(cancels, [left]);
  });
});

Deno.test("a cancelled watched reader leaves no timer and no listener on its signal", async () => {
  const { reader, controller, cancels, timers } = begin();
  const reading = reader.read();
  await settle();
  await reader.cancel("left");
  assert.equal((await reading).done, true);
  assert.equal(timers.running, 0);
  controller.abort();
  assert.deepEqual(cancels, ["left"]);
});

function scene(idleMs: number, whenIdle = () => {}) {
  const timers = createFakeTimers();
  const idleAt: number[] = [];
  const watch = createIdleWatch({
    deadlines: createDeadlines(timers),
    idleMs,
    onIdle() {
      idleAt.push(timers.elapsedMs());
      whenIdle();
    },
  });
  return { timers, watch, idleAt };
}

Deno.test("createIdleWatch() reports a wait once, as soon as it lasts too long", () => {
  const { timers, watch, idleAt } = scene(100);
  watch.wait();
  timers.advance(99);
  assert.deepEqual(idleAt, []);
  timers.advance(1);
  assert.deepEqual(idleAt, [100]);
  timers.advance(1000);
  assert.deepEqual(idleAt, [100]);
  assert.equal(timers.running, 0);
});

Deno.test("createIdleWatch() can wait again after it has reported a wait", () => {
  const { timers, watch, idleAt } = scene(100, () => watch.wait());
  watch.wait();
  timers.advance(350);
  assert.deepEqual(idleAt, [100, 200, 300]);
  watch.stop();
  timers.advance(1000);
  assert.equal(idleAt.length, 3);
  assert.equal(timers.running, 0);
});

Deno.test("createIdleWatch() counts each wait from zero", () => {
  const { timers, watch, idleAt } = scene(100);
  for (let count = 0; count < 10; count++) {
    watch.wait();
    timers.advance(60);
    watch.endWait();
  }
  watch.wait();
  timers.advance(99);
  assert.deepEqual(idleAt, []);
  timers.advance(1);
  assert.deepEqual(idleAt, [700]);
});

Deno.test("createIdleWatch() does not count time without a wait", () => {
  const { timers, watch, idleAt } = scene(100);
  watch.wait();
  watch.endWait();
  timers.advance(10_000);
  assert.equal(timers.running, 0);
  watch.wait();
  timers.advance(99);
  assert.deepEqual(idleAt, []);
  timers.advance(1);
  assert.deepEqual(idleAt, [10_100]);
});

Deno.test("createIdleWatch() sets few timers for many waits", () => {
  const { timers, watch } = scene(1000);
  for (let count = 0; count < 1000; count++) {
    watch.wait();
    timers.advance(1);
    watch.endWait();
  }
  assert.ok(timers.started <= 2, `${timers.started} timers`);
});

Deno.test("createIdleWatch() is silent once it is stopped, and leaves no timer", () => {
  const { timers, watch, idleAt } = scene(100);
  watch.wait();
  watch.stop();
  assert.equal(timers.running, 0);
  watch.wait();
  watch.stop();
  timers.advance(1000);
  assert.deepEqual(idleAt, []);
  assert.equal(timers.started, 1);
});

Deno.test("createIdleWatch() waits forever when its time is 0", () => {
  const { timers, watch, idleAt } = scene(0);
  watch.wait();
  timers.advance(1e9);
  watch.endWait();
  watch.stop();
  assert.deepEqual(idleAt, []);
  assert.equal(timers.started, 0);
});

Deno.test("createIdleWatch() reports the first wait that is too long", () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = createRandom(seed);
    const { timers, watch, idleAt } = scene(50);
    let expected: number | undefined;
    while (expected === undefined) {
      const waitMs = random.below(60);
      watch.wait();
      if (waitMs >= 50) expected = timers.elapsedMs() + 50;
      timers.advance(waitMs);
      watch.endWait();
      timers.advance(random.below(80));
    }
    assert.deepEqual(idleAt, [expected]);
    assert.equal(timers.running, 0);
  }
});
