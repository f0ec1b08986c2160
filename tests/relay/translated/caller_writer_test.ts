import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/core/deadlines.ts";
import {
  createSpeaking,
  KEEP_ALIVE_MS,
  type Speaking,
} from "../../../src/relay/translated/caller_writer.ts";
import { STALL_MS } from "../../../src/streams/pass_through.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";

interface Scene {
  readonly speaking: Speaking;
  readonly timers: FakeTimers;
  /** What the caller was given, piece by piece. */
  readonly said: readonly string[];
  readonly stalls: () => number;
  /** The caller wants more. */
  listen(): void;
  /** The caller reads, and takes what is said next. */
  take(): Promise<unknown>;
}

function begin(): Scene {
  const timers = createFakeTimers();
  const said: string[] = [];
  let stalls = 0;
  const speaking = createSpeaking({
    deadlines: createDeadlines(timers),
    keepAlive: () => "ping",
    onText: (text) => void said.push(text),
    onStall: () => void stalls++,
  });
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const reader = new ReadableStream<Uint8Array>({
    start: (itsController) => void (controller = itsController),
  }, { highWaterMark: 0 }).getReader();
  return {
    speaking,
    timers,
    said,
    stalls: () => stalls,
    listen() {
      speaking.listen(controller ?? assert.fail("the stream did not start"));
    },
    take: () => reader.read(),
  };
}

Deno.test("speaking holds back until the caller listens, and says all of it in one piece then", () => {
  const { speaking, said, listen } = begin();
  speaking.say("a");
  speaking.say("b");
  assert.deepEqual(said, []);
  assert.equal(speaking.isHeard, false);
  listen();
  assert.deepEqual(said, ["ab"]);
  assert.equal(speaking.isHeard, true);
  speaking.say("c");
  listen();
  assert.deepEqual(said, ["ab", "c"]);
  assert.equal(speaking.isHeard, false);
  speaking.stop();
});

Deno.test("speaking counts an empty text as nothing heard", () => {
  const { speaking, said, listen } = begin();
  listen();
  speaking.say("");
  assert.deepEqual(said, []);
  assert.equal(speaking.isHeard, false);
  speaking.stop();
});

Deno.test("speaking says nothing once stopped", () => {
  const { speaking, timers, said, listen } = begin();
  speaking.say("held");
  speaking.stop();
  listen();
  speaking.say("a");
  timers.advance(STALL_MS);
  assert.deepEqual(said, []);
});

Deno.test("speaking keeps company only while the caller waits", () => {
  const { speaking, timers, said, listen } = begin();
  listen();
  timers.advance(KEEP_ALIVE_MS);
  assert.deepEqual(said, ["ping"]);
  speaking.rest();
  timers.advance(2 * KEEP_ALIVE_MS);
  assert.deepEqual(said, ["ping"]);
  speaking.stop();
});

Deno.test("speaking tells a stall from the first that was not taken, whatever is said meanwhile", () => {
  const { speaking, timers, stalls, listen } = begin();
  listen();
  speaking.say("a");
  speaking.rest();
  timers.advance(STALL_MS - 1);
  speaking.say("b");
  speaking.rest();
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  speaking.stop();
});

Deno.test("speaking begins to count anew when the caller takes something", () => {
  const { speaking, timers, stalls, listen } = begin();
  listen();
  speaking.say("a");
  timers.advance(STALL_MS - 1);
  listen();
  speaking.say("b");
  speaking.rest();
  timers.advance(STALL_MS - 1);
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  speaking.stop();
});

Deno.test("speaking counts from when it rests for a caller who has taken all, however long it spoke", async () => {
  const { speaking, timers, stalls, listen, take } = begin();
  listen();
  const taken = take();
  speaking.say("a");
  await taken;
  timers.advance(KEEP_ALIVE_MS - 1);
  speaking.rest();
  timers.advance(STALL_MS - 1);
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  speaking.stop();
});
