import { DirectResponse } from "../../../src/http1/direct_response.ts";
import { toResponse } from "../../../src/gateway/http/gateway.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import {
  PassThrough,
  type PassThroughEnd,
  STALL_MS,
} from "../../../src/base/streams/pass_through.ts";
import {
  IdleError,
  WatchedReader,
} from "../../../src/base/streams/watched_reader.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { settle } from "../../support/settle.ts";

/** Returns the stream for a server that reads only the platform's streams. */
function bodyOf(source: PassThrough): ReadableStream<Uint8Array> {
  const { body } = toResponse(new DirectResponse(source, { headers: [] }));
  assert.ok(body);
  return body;
}

const KEEP_ALIVE_MS = 15_000;

/** A PassThrough whose source the test controls. */
interface Scene {
  readonly timers: FakeTimers;
  readonly source: ReadableStreamDefaultController<Uint8Array>;
  readonly body: PassThrough;
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  /** The number of reads of the source. */
  pulls(): number;
  /** The reason of each cancellation of the source. */
  readonly cancels: readonly unknown[];
  /** The arguments of onChunk and onEnd, in order. */
  readonly seen: readonly (string | PassThroughEnd)[];
}

interface SceneOptions {
  readonly idleMs?: number;
  readonly keepAlive?: () => Uint8Array;
  readonly isAwaited?: () => boolean;
  /** The function that the source runs when it is cancelled. */
  readonly onCancel?: () => Promise<void>;
  readonly onEnd?: () => void;
}

const bytes = (text: string) => new TextEncoder().encode(text);

function begin(
  { idleMs = 100, keepAlive, isAwaited, onCancel, onEnd }: SceneOptions = {},
): Scene {
  const timers = createFakeTimers();
  const cancels: unknown[] = [];
  const seen: (string | PassThroughEnd)[] = [];
  let pulls = 0;
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (source = controller),
    pull: () => void pulls++,
    cancel(reason) {
      cancels.push(reason);
      return onCancel?.();
    },
  }, { highWaterMark: 0 });
  assert.ok(source);
  const deadlines = createDeadlines(timers);
  const watched = new WatchedReader(body.getReader(), {
    deadlines,
    idleMs,
    signal: new AbortController().signal,
  });
  const passed = new PassThrough(watched, {
    deadlines,
    isAwaited,
    ...(keepAlive === undefined ? {} : { keepAlive }),
    onChunk: (chunk) => seen.push(new TextDecoder().decode(chunk)),
    onEnd(end) {
      seen.push(end);
      onEnd?.();
    },
  });
  const reader = bodyOf(passed).getReader();
  const pulled = () => pulls;
  return { timers, source, body: passed, reader, pulls: pulled, cancels, seen };
}

/** Gives the reader the next chunk. */
async function deliver({ source, reader }: Scene, text: string): Promise<void> {
  const reading = reader.read();
  const chunk = bytes(text);
  source.enqueue(chunk);
  assert.deepEqual(await reading, { done: false, value: chunk });
}

Deno.test("PassThrough forwards each chunk unchanged, and ends with its source", async () => {
  const scene = begin();
  const { source, reader, seen, cancels, timers } = scene;
  for (const text of ["a", "b"]) {
    const chunk = bytes(text);
    source.enqueue(chunk);
    const { value } = await reader.read();
    assert.equal(value, chunk);
  }
  source.close();
  assert.deepEqual(await reader.read(), { done: true, value: undefined });
  assert.deepEqual(seen, ["a", "b", { kind: "complete" }]);
  assert.deepEqual(cancels, []);
  assert.equal(timers.running, 0);
});

Deno.test("PassThrough does not forward an empty chunk", async () => {
  const { source, reader, seen, timers } = begin({ idleMs: 100 });
  const reading = reader.read();
  for (let count = 0; count < 3; count++) {
    await settle();
    timers.advance(60);
    source.enqueue(bytes(""));
  }
  await settle();
  const chunk = bytes("a");
  source.enqueue(chunk);
  assert.equal((await reading).value, chunk);
  assert.deepEqual(seen, ["a"]);
  await reader.cancel();
});

Deno.test("PassThrough reads from its source only when its reader reads", async () => {
  const scene = begin();
  await settle();
  assert.equal(scene.pulls(), 0);
  await deliver(scene, "a");
  await settle();
  assert.equal(scene.pulls(), 1);
  await deliver(scene, "b");
  await settle();
  assert.equal(scene.pulls(), 2);
  assert.deepEqual(scene.seen, ["a", "b"]);
  await scene.reader.cancel();
});

Deno.test("PassThrough forwards its source's failure after the chunks", async () => {
  const scene = begin();
  const cause = new Error("reset");
  await deliver(scene, "a");
  scene.source.error(cause);
  await assert.rejects(scene.reader.read(), cause);
  assert.deepEqual(scene.seen, ["a", { kind: "broken", cause }]);
  assert.equal(scene.timers.running, 0);
});

Deno.test("PassThrough fails when its source fails during a read", async () => {
  const { source, reader, seen } = begin();
  const cause = new Error("reset");
  const reading = reader.read();
  await settle();
  source.error(cause);
  await assert.rejects(reading, cause);
  assert.deepEqual(seen, [{ kind: "broken", cause }]);
});

Deno.test("PassThrough cancels its source when the reader leaves", async () => {
  const scene = begin();
  await deliver(scene, "a");
  await scene.reader.cancel("left");
  assert.deepEqual(scene.cancels, ["left"]);
  assert.deepEqual(scene.seen, ["a", { kind: "cancelled" }]);
  assert.equal(scene.timers.running, 0);
});

Deno.test("PassThrough cancels its source before anything was read", async () => {
  const { reader, cancels, seen, pulls } = begin();
  await reader.cancel("left");
  assert.deepEqual(cancels, ["left"]);
  assert.deepEqual(seen, [{ kind: "cancelled" }]);
  assert.equal(pulls(), 0);
});

Deno.test("PassThrough cancels its source while a read is pending", async () => {
  const { reader, cancels, seen, timers } = begin();
  const reading = reader.read();
  await settle();
  await reader.cancel("left");
  assert.deepEqual(await reading, { done: true, value: undefined });
  assert.deepEqual(cancels, ["left"]);
  assert.deepEqual(seen, [{ kind: "cancelled" }]);
  assert.equal(timers.running, 0);
});

Deno.test("PassThrough ends for its reader even if cancelling its source fails or hangs", async () => {
  const fails = () => Promise.reject(new Error("no"));
  for (const onCancel of [fails, () => new Promise<void>(() => {})]) {
    const { reader, seen } = begin({ onCancel });
    await reader.cancel();
    await settle();
    assert.deepEqual(seen, [{ kind: "cancelled" }]);
  }
});

Deno.test("PassThrough drops a chunk that arrives as the reader leaves", async () => {
  const { source, reader, seen } = begin();
  const reading = reader.read();
  await settle();
  source.enqueue(bytes("late"));
  await reader.cancel();
  await settle();
  assert.deepEqual(await reading, { done: true, value: undefined });
  assert.deepEqual(seen, [{ kind: "cancelled" }]);
});

Deno.test("PassThrough fails when its source is silent while the reader waits", async () => {
  const scene = begin({ idleMs: 100 });
  await deliver(scene, "a");
  const reading = scene.reader.read();
  await settle();
  scene.timers.advance(99);
  assert.deepEqual(scene.seen, ["a"]);
  scene.timers.advance(1);
  await assert.rejects(reading, /fell silent/);
  await settle();
  const cause = new IdleError();
  assert.deepEqual(scene.seen, ["a", { kind: "broken", cause }]);
  assert.equal(scene.cancels.length, 1);
  assert.equal(scene.timers.running, 0);
});

Deno.test("PassThrough waits for a slow reader", async () => {
  const scene = begin({ idleMs: 100 });
  await deliver(scene, "a");
  scene.timers.advance(10_000);
  await deliver(scene, "b");
  scene.timers.advance(10_000);
  scene.source.close();
  assert.equal((await scene.reader.read()).done, true);
  assert.deepEqual(scene.seen, ["a", "b", { kind: "complete" }]);
});

Deno.test("PassThrough cuts off a reader that reads nothing for ten minutes", async () => {
  const scene = begin();
  await deliver(scene, "a");
  scene.timers.advance(599_999);
  assert.deepEqual(scene.seen, ["a"]);
  scene.timers.advance(1);
  assert.deepEqual(scene.seen, ["a", { kind: "stalled" }]);
  assert.equal(scene.cancels.length, 1);
  assert.equal(scene.timers.running, 0);
  await assert.rejects(scene.reader.read(), /stopped reading/);
});

Deno.test("PassThrough cuts off a reader that takes nothing for a minute while other requests wait", async () => {
  let isAwaited = false;
  const scene = begin({ isAwaited: () => isAwaited });
  await deliver(scene, "a");
  scene.timers.advance(60_000);
  isAwaited = true;
  await deliver(scene, "b");
  scene.timers.advance(59_999);
  assert.deepEqual(scene.seen, ["a", "b"]);
  scene.timers.advance(1);
  assert.deepEqual(scene.seen.at(-1), { kind: "stalled", forOthers: true });
  assert.equal(scene.cancels.length, 1);
  assert.equal(scene.timers.running, 0);
  await assert.rejects(scene.reader.read(), /stopped reading/);
});

Deno.test("PassThrough keeps a reader that takes its chunk in small parts", async () => {
  const scene = begin({ isAwaited: () => true });
  await deliver(scene, "a");
  for (let count = 0; count < 20; count++) {
    scene.timers.advance(50_000);
    scene.body.noteTaken();
  }
  assert.deepEqual(scene.seen, ["a"]);
  scene.timers.advance(60_000);
  assert.deepEqual(scene.seen.at(-1), { kind: "stalled", forOthers: true });
});

Deno.test("PassThrough does not cut off a reader that waits for a chunk", async () => {
  const scene = begin({ idleMs: 0, isAwaited: () => true });
  const reading = scene.reader.read();
  await settle();
  scene.body.noteTaken();
  scene.timers.advance(STALL_MS);
  assert.deepEqual(scene.seen, []);
  await scene.reader.cancel();
  await reading;
  assert.equal(scene.timers.running, 0);
});

Deno.test("PassThrough reports one end when onEnd() makes its source fail", async () => {
  const scene = begin({
    idleMs: 100,
    onEnd: () => scene.source.error(new Error("aborted")),
  });
  const reading = scene.reader.read();
  await settle();
  scene.timers.advance(100);
  await assert.rejects(reading, /fell silent/);
  await settle();
  assert.deepEqual(scene.seen, [{ kind: "broken", cause: new IdleError() }]);
});

const PING = { idleMs: 0, keepAlive: () => bytes("ping") };

Deno.test("PassThrough sends keep-alives only while its reader waits", async () => {
  const { source, reader, seen, timers } = begin(PING);
  for (const _ of ["once", "again"]) {
    const reading = reader.read();
    await settle();
    timers.advance(KEEP_ALIVE_MS - 1);
    await settle();
    const before = seen.length;
    timers.advance(1);
    assert.deepEqual((await reading).value, bytes("ping"));
    assert.equal(seen.length, before + 1);
  }
  const reading = reader.read();
  source.enqueue(bytes("a"));
  await reading;
  timers.advance(2 * KEEP_ALIVE_MS);
  assert.deepEqual(seen, ["ping", "ping", "a"]);
  await reader.cancel();
  assert.equal(timers.running, 0);
});

Deno.test("PassThrough sends keep-alives while its source sends empty chunks", async () => {
  const { source, reader, seen, timers } = begin(PING);
  const reading = reader.read();
  for (let seconds = 0; seconds < 15; seconds += 5) {
    await settle();
    source.enqueue(bytes(""));
    await settle();
    assert.deepEqual(seen, []);
    timers.advance(5000);
  }
  assert.deepEqual((await reading).value, bytes("ping"));
  await reader.cancel();
});

Deno.test("PassThrough reads nothing ahead after a keep-alive", async () => {
  const { source, reader, timers, pulls } = begin(PING);
  const reading = reader.read();
  await settle();
  timers.advance(KEEP_ALIVE_MS);
  await reading;
  const before = pulls();
  source.enqueue(bytes(""));
  await settle();
  assert.equal(pulls(), before);
  await reader.cancel();
});

Deno.test("PassThrough sends no empty keep-alive", async () => {
  const { reader, seen, timers } = begin({
    idleMs: 0,
    keepAlive: () => bytes(""),
  });
  const reading = reader.read();
  await settle();
  timers.advance(10 * KEEP_ALIVE_MS);
  await settle();
  assert.deepEqual(seen, []);
  await reader.cancel();
  await reading;
});

Deno.test("PassThrough keeps a reader that reads the keep-alives", async () => {
  const { reader, seen, timers } = begin(PING);
  for (let passedMs = 0; passedMs < 4 * STALL_MS; passedMs += KEEP_ALIVE_MS) {
    const reading = reader.read();
    await settle();
    timers.advance(KEEP_ALIVE_MS);
    assert.deepEqual((await reading).value, bytes("ping"));
  }
  assert.ok(seen.every((one) => one === "ping"));
  await reader.cancel();
});

Deno.test("PassThrough cuts off a reader that reads no keep-alive", async () => {
  const { reader, seen, timers, cancels } = begin(PING);
  const reading = reader.read();
  await settle();
  timers.advance(KEEP_ALIVE_MS);
  await reading;
  timers.advance(KEEP_ALIVE_MS);
  timers.advance(2 * STALL_MS);
  await settle();
  assert.deepEqual(seen.at(-1), { kind: "stalled" });
  assert.equal(cancels.length, 1);
  assert.equal(timers.running, 0);
  await assert.rejects(reader.read(), /stopped reading/);
});

Deno.test("PassThrough reports only one end when several coincide", async () => {
  for (let seed = 0; seed < 100; seed++) {
    const random = createRandom(seed);
    const scene = begin({ idleMs: 10 });
    const { source, reader, timers, seen } = scene;
    const acts: (() => unknown)[] = [
      () => source.enqueue(bytes("x")),
      () => source.close(),
      () => source.error(new Error("broken")),
      () => reader.cancel(),
      () => reader.read(),
      () => timers.advance(random.below(12)),
      settle,
    ];
    for (let step = 0; step < 12; step++) {
      attempt(random.pick(acts));
      if (random.below(2) === 0) await settle();
    }
    attempt(() => source.close());
    for (let step = 0; step < 14; step++) attempt(() => reader.read());
    await settle();
    const ends = seen.filter((one) => typeof one !== "string");
    assert.equal(ends.length, 1, `seed ${seed}`);
    assert.equal(seen.at(-1), ends[0], `seed ${seed}`);
    assert.equal(timers.running, 0, `seed ${seed}`);
  }
});

/** Runs `act` and ignores its errors, synchronous or not. */
function attempt(act: () => unknown): void {
  try {
    Promise.resolve(act()).catch(() => {});
  } catch {
    // The stream has ended.
  }
}

Deno.test("PassThrough cancels its source when onChunk throws", async () => {
  const cancels: unknown[] = [];
  const ends: PassThroughEnd[] = [];
  const fault = new Error("fault");
  const body = new PassThrough({
    read: () => Promise.resolve({ done: false, value: bytes("a") }),
    cancel: (reason) => {
      cancels.push(reason);
      return Promise.resolve();
    },
  }, {
    deadlines: createDeadlines(createFakeTimers()),
    onChunk() {
      throw fault;
    },
    onEnd: (end) => ends.push(end),
  });
  await assert.rejects(body.read(), fault);
  assert.deepEqual(cancels, [fault]);
  assert.deepEqual(ends, [{ kind: "broken", cause: fault }]);
});

Deno.test("a reader that stops reading ends the source, even without an onStall", async () => {
  const timers = createFakeTimers();
  const ends: string[] = [];
  const body = new PassThrough(new Blob(["hello"]).stream().getReader(), {
    deadlines: createDeadlines(timers),
    onChunk: () => {},
    onEnd: ({ kind }) => ends.push(kind),
  });
  await body.read();
  timers.advance(STALL_MS);
  assert.deepEqual(ends, ["stalled"]);
  await assert.rejects(body.read(), /stopped reading/);
});

Deno.test("a server that transfers the memory of a chunk detaches no other chunk", async () => {
  const memory = bytes("mine and theirs");
  const [mine, theirs] = [memory.subarray(0, 4), memory.subarray(9)];
  const { reader, source } = begin();
  const reading = reader.read();
  source.enqueue(mine);
  const { value } = await reading;
  assert.ok(value?.buffer instanceof ArrayBuffer);
  assert.equal(new TextDecoder().decode(value.buffer.transfer()), "mine");
  assert.equal(new TextDecoder().decode(theirs), "theirs");
  await reader.cancel();
});
