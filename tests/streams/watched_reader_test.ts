import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import type { ByteReader } from "../../src/streams/look_ahead.ts";
import {
  createWatchedReader,
  IdleError,
} from "../../src/streams/watched_reader.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../support/fakes/fake_timers.ts";
import { settle } from "../support/settle.ts";

interface Scene {
  readonly timers: FakeTimers;
  readonly source: ReadableStreamDefaultController<Uint8Array>;
  readonly reader: ByteReader;
  readonly controller: AbortController;
  /** Why the source was cancelled, each time. */
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
  const reader = createWatchedReader(body.getReader(), {
    deadlines: createDeadlines(timers),
    idleMs,
    signal: controller.signal,
  });
  return { timers, source, reader, controller, cancels };
}

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("a watched reader gives each chunk as it is, and leaves no timer at the end", async () => {
  const { source, reader, timers, cancels } = begin();
  const chunk = bytes("a");
  source.enqueue(chunk);
  assert.equal((await reader.read()).value, chunk);
  source.close();
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(cancels, []);
  assert.equal(timers.running, 0);
});

Deno.test("a watched reader gives its source up when that is silent while it is read", async () => {
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

Deno.test("a watched reader takes an empty chunk for a sign of life", async () => {
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

Deno.test("a watched reader does not count time in which nobody reads", async () => {
  const { source, reader, timers } = begin();
  source.enqueue(bytes("a"));
  await reader.read();
  timers.advance(10_000);
  source.enqueue(bytes("b"));
  assert.deepEqual((await reader.read()).value, bytes("b"));
  await reader.cancel();
});

Deno.test("a watched reader drops a chunk that comes with the end of its patience", async () => {
  const { source, reader, timers } = begin();
  const reading = reader.read();
  await settle();
  source.enqueue(bytes("late"));
  timers.advance(100);
  await assert.rejects(reading, IdleError);
});

Deno.test("a watched reader waits forever where the idle time is 0", async () => {
  const { source, reader, timers } = begin({ idleMs: 0 });
  const reading = reader.read();
  timers.advance(1e9);
  source.enqueue(bytes("a"));
  assert.deepEqual((await reading).value, bytes("a"));
});

Deno.test("a watched reader throws what its source throws, and leaves no timer", async () => {
  const { source, reader, timers } = begin();
  const reading = reader.read();
  await settle();
  source.error(new TypeError("connection reset"));
  await assert.rejects(reading, /connection reset/);
  assert.equal(timers.running, 0);
});

Deno.test("a watched reader ends when it is cut, though its source does not notice", async (t) => {
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

Deno.test("a watched reader that is cancelled leaves no timer, and hears no signal any more", async () => {
  const { reader, controller, cancels, timers } = begin();
  const reading = reader.read();
  await settle();
  await reader.cancel("left");
  assert.equal((await reading).done, true);
  assert.equal(timers.running, 0);
  controller.abort();
  assert.deepEqual(cancels, ["left"]);
});
