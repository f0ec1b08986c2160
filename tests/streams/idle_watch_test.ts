import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { createIdleWatch } from "../../src/streams/idle_watch.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { createRandom } from "../support/fakes/random.ts";

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

Deno.test("createIdleWatch() tells of a wait as soon as it lasts too long, once", () => {
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

Deno.test("createIdleWatch() may be told to wait again when it has told of a wait", () => {
  const { timers, watch, idleAt } = scene(100, () => watch.wait());
  watch.wait();
  timers.advance(350);
  assert.deepEqual(idleAt, [100, 200, 300]);
  watch.stop();
  timers.advance(1000);
  assert.equal(idleAt.length, 3);
  assert.equal(timers.running, 0);
});

Deno.test("createIdleWatch() counts each wait by itself", () => {
  const { timers, watch, idleAt } = scene(100);
  for (let count = 0; count < 10; count++) {
    watch.wait();
    timers.advance(60);
    watch.heard();
  }
  watch.wait();
  timers.advance(99);
  assert.deepEqual(idleAt, []);
  timers.advance(1);
  assert.deepEqual(idleAt, [700]);
});

Deno.test("createIdleWatch() does not count time in which nobody waits", () => {
  const { timers, watch, idleAt } = scene(100);
  watch.wait();
  watch.heard();
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
    watch.heard();
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

Deno.test("createIdleWatch() waits for ever where the time is 0", () => {
  const { timers, watch, idleAt } = scene(0);
  watch.wait();
  timers.advance(1e9);
  watch.heard();
  watch.stop();
  assert.deepEqual(idleAt, []);
  assert.equal(timers.started, 0);
});

Deno.test("createIdleWatch() tells of the first wait that is too long, whatever went before", () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = createRandom(seed);
    const { timers, watch, idleAt } = scene(50);
    let expected: number | undefined;
    while (expected === undefined) {
      const waitMs = random.below(60);
      watch.wait();
      if (waitMs >= 50) expected = timers.elapsedMs() + 50;
      timers.advance(waitMs);
      watch.heard();
      timers.advance(random.below(80));
    }
    assert.deepEqual(idleAt, [expected]);
    assert.equal(timers.running, 0);
  }
});
