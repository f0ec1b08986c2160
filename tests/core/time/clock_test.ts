import assert from "node:assert/strict";
import { systemClock } from "../../../src/core/time/clock.ts";

Deno.test("systemClock.now() is the wall clock in milliseconds", () => {
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(now >= before && now <= Date.now());
});

Deno.test("systemClock.elapsedMs() never goes back", () => {
  const readings = Array.from({ length: 100 }, () => systemClock.elapsedMs());
  assert.deepEqual(readings, readings.toSorted((one, other) => one - other));
});
