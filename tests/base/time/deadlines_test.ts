import assert from "node:assert/strict";
import {
  type Cancel,
  createDeadlines,
  orNever,
  settled,
  untilAbort,
  wait,
  within,
} from "../../../src/base/time/deadlines.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";

function scene() {
  const timers = createFakeTimers();
  const deadlines = createDeadlines(timers);
  const passed: string[] = [];
  const start = (name: string, ms: number) =>
    deadlines.start(ms, () => passed.push(`${name}@${timers.elapsedMs()}`));
  return { timers, deadlines, passed, start };
}

Deno.test("Deadlines call their function once, and not before their time has passed", () => {
  const { timers, passed, start } = scene();
  start("a", 100);
  timers.advance(99);
  assert.deepEqual(passed, []);
  timers.advance(1);
  assert.deepEqual(passed, ["a@100"]);
  timers.advance(1000);
  assert.deepEqual(passed, ["a@100"]);
});

Deno.test("Deadlines without a time never pass and set no timer", () => {
  const { timers, passed, start } = scene();
  const cancel = start("a", orNever(0));
  cancel();
  timers.advance(1e9);
  assert.deepEqual(passed, []);
  assert.equal(timers.started, 0);
});

Deno.test("Deadlines with a wait of 0 or less pass at the next millisecond", () => {
  const { timers, passed, start } = scene();
  timers.advance(50);
  start("now", 0);
  start("before", -20);
  assert.deepEqual(passed, []);
  timers.advance(1);
  assert.deepEqual(passed, ["now@51", "before@51"]);
});

Deno.test("Deadlines pass in the order of their times, and at the same time in the order of their starts", () => {
  const { timers, passed, start } = scene();
  start("long", 100);
  start("short", 10);
  start("short too", 10);
  timers.advance(5);
  start("later", 10);
  timers.advance(1000);
  const inOrder = ["short@10", "short too@10", "later@15", "long@100"];
  assert.deepEqual(passed, inOrder);
});

Deno.test("Cancelled deadlines do not pass; cancelling again or late does nothing", () => {
  const { timers, passed, start } = scene();
  const cancel = start("a", 10);
  start("b", 10);
  cancel();
  cancel();
  const cancelLate = start("c", 5);
  timers.advance(100);
  cancelLate();
  cancel();
  assert.deepEqual(passed, ["c@5", "b@10"]);
});

Deno.test("Deadlines share one timer and leave none behind", () => {
  const { timers, start } = scene();
  const cancels = Array.from({ length: 50 }, () => start("a", 10));
  start("b", 20);
  assert.equal(timers.running, 1);
  for (const cancel of cancels) cancel();
  assert.equal(timers.started, 1);
  timers.advance(20);
  assert.equal(timers.running, 0);
});

Deno.test("Deadlines have no timer after the last one is cancelled", () => {
  const { timers, start } = scene();
  const cancels = [start("a", 10), start("b", 20)];
  for (const cancel of cancels) cancel();
  assert.equal(timers.running, 0);
});

Deno.test("Deadlines keep no timer after the only one that has not passed is cancelled", () => {
  const { timers, start } = scene();
  start("passes", 10);
  timers.advance(10);
  const cancel = start("another", 20);
  cancel();
  assert.equal(timers.running, 0);
});

Deno.test("A deadline that is shorter than all running ones sets the timer again", () => {
  const { timers, passed, start } = scene();
  start("long", 100);
  const cancel = start("short", 10);
  start("shortest", 5);
  cancel();
  timers.advance(100);
  assert.deepEqual(passed, ["shortest@5", "long@100"]);
});

Deno.test("Deadlines may be started while one passes", () => {
  const { timers, deadlines, passed, start } = scene();
  deadlines.start(10, () => {
    passed.push("first");
    start("same length", 10);
    start("other length", 5);
  });
  timers.advance(10);
  assert.deepEqual(passed, ["first"]);
  timers.advance(10);
  assert.deepEqual(passed, ["first", "other length@15", "same length@20"]);
  assert.equal(timers.running, 0);
});

Deno.test("A due deadline does not pass when another deadline cancels it first", () => {
  const { timers, deadlines, passed, start } = scene();
  let cancel: Cancel = () => {};
  deadlines.start(10, () => {
    cancel();
    start("after", 10);
  });
  cancel = start("taken back", 10);
  timers.advance(100);
  assert.deepEqual(passed, ["after@20"]);
  assert.equal(timers.running, 0);
});

Deno.test("Deadlines continue when the function of one deadline throws", () => {
  const { timers, deadlines, passed, start } = scene();
  deadlines.start(10, () => {
    throw new Error("no");
  });
  start("a", 10);
  assert.throws(() => timers.advance(10), /no/);
  timers.advance(1);
  assert.deepEqual(passed, ["a@10"]);
  start("b", 10);
  timers.advance(10);
  assert.equal(passed.length, 2);
});

Deno.test("Deadlines continue to wait when a timer fires too early", () => {
  const rings: (() => void)[] = [];
  let nowMs = 0;
  const deadlines = createDeadlines({
    elapsedMs: () => nowMs,
    schedule(_delayMs, onDue) {
      rings.push(onDue);
      return () => {};
    },
  });
  let passed = 0;
  deadlines.start(10, () => passed++);
  nowMs = 9.5;
  rings.shift()?.();
  assert.equal(passed, 0);
  nowMs = 10;
  rings.shift()?.();
  assert.equal(passed, 1);
  assert.deepEqual(rings, []);
});

Deno.test("Deadlines are correct for any sequence of starts, cancels and time", () => {
  const random = createRandom(1);
  const { timers, deadlines } = scene();
  const due = new Map<number, number>();
  const cancels = new Map<number, Cancel>();
  for (let id = 0; id < 3000; id++) {
    const ms = random.pick([5, 5, 5, 7, 30, 1 + random.below(50)]);
    due.set(id, timers.elapsedMs() + ms);
    cancels.set(
      id,
      deadlines.start(ms, () => {
        assert.equal(timers.elapsedMs(), due.get(id));
        due.delete(id);
      }),
    );
    const other = random.below(id + 1);
    if (random.below(3) === 0) {
      cancels.get(other)?.();
      due.delete(other);
    }
    timers.advance(random.below(4));
    for (const dueMs of due.values()) assert.ok(dueMs > timers.elapsedMs());
  }
  timers.advance(100);
  assert.equal(due.size, 0);
  assert.equal(timers.running, 0);
});

Deno.test("Deadlines pass on the machine's own timers too", async () => {
  const deadlines = createDeadlines();
  const before = deadlines.elapsedMs();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = deadlines.start(1, () => assert.fail("was taken back"));
  deadlines.start(2, resolve);
  cancel();
  await promise;
  assert.ok(deadlines.elapsedMs() - before >= 2);
});

Deno.test("Deadlines let an unused timer fire if mayFireUnused is true", () => {
  const timers = Object.assign(createFakeTimers(), { mayFireUnused: true });
  const deadlines = createDeadlines(timers);
  const passed: number[] = [];
  for (let request = 0; request < 100; request++) {
    deadlines.start(50, () => passed.push(NaN))();
    timers.advance(1);
  }
  assert.equal(passed.length, 0);
  assert.ok(timers.started <= 2, String(timers.started));
  timers.advance(1000);
  deadlines.start(10, () => passed.push(timers.elapsedMs()));
  timers.advance(10);
  assert.deepEqual(passed, [1110]);
});

function begin() {
  const timers = createFakeTimers();
  const controller = new AbortController();
  const options = {
    deadlines: createDeadlines(timers),
    signal: controller.signal,
  };
  return { timers, controller, options };
}

Deno.test("wait() resolves when the time has passed", async () => {
  const { timers, options } = begin();
  let isOver = false;
  const waiting = wait(100, options).then(() => isOver = true);
  timers.advance(99);
  await Promise.resolve();
  assert.equal(isOver, false);
  timers.advance(1);
  await waiting;
  assert.equal(timers.running, 0);
});

Deno.test("wait() resolves at once for 0 milliseconds", async () => {
  const { timers, options } = begin();
  await wait(0, options);
  assert.equal(timers.started, 0);
});

Deno.test("wait() ends as soon as its signal aborts", async () => {
  const { timers, controller, options } = begin();
  const waiting = wait(100, options);
  controller.abort(new Error("over"));
  await assert.rejects(waiting, /over/);
  assert.equal(timers.running, 0);
  await assert.rejects(wait(100, options), /over/);
  await assert.rejects(wait(0, options), /over/);
});

Deno.test("untilAbort() returns the result of the work", async () => {
  const { signal } = new AbortController();
  assert.equal(await untilAbort(Promise.resolve(5), signal), 5);
  await assert.rejects(
    untilAbort(Promise.reject(new Error("no")), signal),
    /no/,
  );
});

Deno.test("untilAbort() stops waiting when the signal aborts, and the work continues", async () => {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<number>();
  const waiting = untilAbort(promise, controller.signal);
  controller.abort(new Error("over"));
  await assert.rejects(waiting, /over/);
  resolve(5);
  assert.equal(await promise, 5);
});

Deno.test("untilAbort() does not wait at all for a signal that has aborted", async () => {
  const signal = AbortSignal.abort(new Error("over"));
  await assert.rejects(untilAbort(Promise.resolve(5), signal), /over/);
});

Deno.test("untilAbort() handles the failure of abandoned work", async () => {
  const unhandled: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  addEventListener("unhandledrejection", note);
  try {
    const [early, late] = [0, 1].map(() => Promise.withResolvers<number>());
    assert.ok(early && late);
    const controller = new AbortController();
    const waiting = untilAbort(late.promise, controller.signal);
    controller.abort(new Error("left"));
    await assert.rejects(waiting, /left/);
    await assert.rejects(untilAbort(early.promise, controller.signal), /left/);
    early.reject(new Error("too late"));
    late.reject(new Error("too late"));
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(unhandled, []);
  } finally {
    removeEventListener("unhandledrejection", note);
  }
});

Deno.test("untilAbort() leaves no listener on a signal that does not abort", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (type: string, listener: EventListener) => {
      listeners += 1;
      add(type, listener);
    },
    removeEventListener: (type: string, listener: EventListener) => {
      listeners -= 1;
      remove(type, listener);
    },
  });
  await untilAbort(Promise.resolve(1), signal);
  await assert.rejects(untilAbort(Promise.reject(new Error("no")), signal));
  await Promise.resolve();
  assert.equal(listeners, 0);
});

function withinScene() {
  const timers = createFakeTimers();
  const { start } = createDeadlines(timers);
  const work = Promise.withResolvers<string>();
  return { timers, start, work, promise: work.promise };
}

Deno.test("within() returns the result of work in time, and leaves no timer", async () => {
  const { timers, start, work, promise } = withinScene();
  const waiting = within(promise, { ms: 100, start, onLate: () => "late" });
  timers.advance(99);
  work.resolve("done");
  assert.equal(await waiting, "done");
  await Promise.resolve();
  assert.equal(timers.running, 0);
});

Deno.test("within() rejects with the error of work in time, and leaves no timer", async () => {
  const { timers, start, work, promise } = withinScene();
  const waiting = within(promise, { ms: 100, start, onLate: () => "late" });
  work.reject(new Error("no"));
  await assert.rejects(waiting, /no/);
  await Promise.resolve();
  assert.equal(timers.running, 0);
});

Deno.test("within() returns the substitute for late work, and ignores its failure", async () => {
  const { timers, start, work, promise } = withinScene();
  const waiting = within(promise, { ms: 100, start, onLate: () => "late" });
  timers.advance(100);
  assert.equal(await waiting, "late");
  work.reject(new Error("Unhandled, this would fail the test"));
  await new Promise((resolve) => setTimeout(resolve, 0));
});

Deno.test("within() rejects with the error that replaces late work", async () => {
  const { timers, start, promise } = withinScene();
  const waiting = within(promise, {
    ms: 100,
    start,
    onLate: () => {
      throw new Error("too late");
    },
  });
  timers.advance(100);
  await assert.rejects(waiting, /too late/);
});

Deno.test("settled() rejects at once after an abort, but keeps a value from before", async () => {
  const given = Promise.withResolvers<number>();
  const controller = new AbortController();
  let left = 0;
  const leave = () => void left++;
  const waiting = settled(given, controller.signal, leave);
  given.resolve(5);
  assert.equal(await waiting, 5);
  controller.abort(new Error("gone"));
  assert.equal(left, 0);

  const other = new AbortController();
  const never = Promise.withResolvers<number>();
  const leaving = settled(never, other.signal, leave);
  other.abort(new Error("gone"));
  assert.equal(left, 1);
  never.resolve(5);
  await assert.rejects(leaving, /gone/);
});
