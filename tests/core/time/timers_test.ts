import assert from "node:assert/strict";
import {
  lastingTimers,
  systemClock,
  systemTimers,
} from "../../../src/core/time/timers.ts";

Deno.test("timers of this machine fire unless they are cancelled", async () => {
  for (const timers of [systemTimers, lastingTimers]) {
    const cancel = timers.schedule(1, () => assert.fail("It was taken back"));
    cancel();
    // The program stays alive for this one, whatever the others do.
    const { promise, resolve } = Promise.withResolvers<void>();
    const alive = setTimeout(() => {}, 60_000);
    const late = timers.schedule(20, resolve);
    await promise;
    clearTimeout(alive);
    late();
  }
});

Deno.test("systemClock.now() is the wall clock in milliseconds", () => {
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(now >= before && now <= Date.now());
});

Deno.test("systemClock.elapsedMs() never goes back", () => {
  const readings = Array.from({ length: 100 }, () => systemClock.elapsedMs());
  assert.deepEqual(readings, readings.toSorted((one, other) => one - other));
});
