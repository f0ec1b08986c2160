import assert from "node:assert/strict";
import { measureLag } from "../../src/observe/metrics.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";

Deno.test("measureLag() reports the delay of its timer until it is stopped", () => {
  const timers = createFakeTimers();
  let lateMs = 0;
  const late = { ...timers, elapsedMs: () => timers.elapsedMs() + lateMs };
  const lags: number[] = [];
  const stop = measureLag(late, (ms) => lags.push(ms));
  timers.advance(500);
  lateMs = 70;
  timers.advance(500);
  timers.advance(500);
  assert.deepEqual(lags, [0, 70, 0]);
  stop();
  timers.advance(5000);
  assert.equal(lags.length, 3);
  assert.equal(timers.running, 0);
});
