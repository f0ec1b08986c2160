import assert from "node:assert/strict";
import { createCreditWindow } from "../../../src/demo/quota/quota.ts";
import { createFakeClock, NOON_MS } from "../harness.ts";

const HOUR_MS = 3_600_000;

const OPTIONS = { lengthMs: 5 * HOUR_MS, limit: 100, othersPerHour: 10 };

Deno.test("a meter begins its window with the first use, and reports none before", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 0,
    resetsAtMs: undefined,
  });
  clock.advance(HOUR_MS);
  meter.spend(7);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 7,
    resetsAtMs: NOON_MS + 6 * HOUR_MS,
  });
});

Deno.test("a meter counts its own use and that of others", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  meter.spend(7);
  clock.advance(2 * HOUR_MS);
  meter.spend(100);
  assert.equal(meter.read().used, 127);
});

Deno.test("a meter resets when its window ends", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  meter.spend(7);
  clock.advance(5 * HOUR_MS);
  assert.equal(meter.read().used, 0);
  assert.equal(meter.read().resetsAtMs, undefined);
});

Deno.test("a meter that began earlier continues from window to window", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock, begunMsAgo: HOUR_MS });
  meter.spend(7);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 17,
    resetsAtMs: NOON_MS + 4 * HOUR_MS,
  });
  clock.advance(10 * HOUR_MS);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 10,
    resetsAtMs: NOON_MS + 14 * HOUR_MS,
  });
});
