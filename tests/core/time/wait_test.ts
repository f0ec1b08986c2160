import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import { wait } from "../../../src/core/time/wait.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";

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

Deno.test("wait() resolves at once for no time", async () => {
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
