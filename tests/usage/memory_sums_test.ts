import assert from "node:assert/strict";
import { createMemorySums } from "../../src/usage/memory_sums.ts";
import type { Sum } from "../../src/usage/sums.ts";

const MINUTE_MS = 60_000;

function sumOf(field: string, endsAtMs = MINUTE_MS, table = "alice"): Sum {
  return { table, field, endsAtMs };
}

/** Sums under a clock that stands still until it is set. */
function setUp() {
  const clock = { nowMs: 0 };
  return { clock, sums: createMemorySums({ now: () => clock.nowMs }) };
}

Deno.test("memory sums begin with 0 and hold what was added and given back", () => {
  const { sums } = setUp();
  const [input, output] = [sumOf("input"), sumOf("output")];
  assert.deepEqual(sums.read([input, output]), [0, 0]);
  sums.add([{ sum: input, amount: 7 }, { sum: output, amount: 2 }]);
  sums.add([{ sum: input, amount: -3 }]);
  assert.deepEqual(sums.read([output, input]), [2, 4]);
  assert.deepEqual(
    sums.table("alice"),
    new Map([["input", 4], ["output", 2]]),
  );
});

Deno.test("memory sums give a table as it is now, not as it will be", () => {
  const { sums } = setUp();
  sums.add([{ sum: sumOf("input"), amount: 1 }]);
  const before = sums.table("alice");
  sums.add([{ sum: sumOf("input"), amount: 1 }]);
  assert.deepEqual(before, new Map([["input", 1]]));
  assert.deepEqual(sums.table("bob"), new Map());
});

Deno.test("memory sums take a reservation that just fits and refuse the one after it", () => {
  const { sums } = setUp();
  const sum = sumOf("tokens");
  const reservation = { sum, amount: 5, most: 10 };
  assert.equal(sums.reserve([reservation]), undefined);
  assert.equal(sums.reserve([reservation]), undefined);
  assert.deepEqual(sums.reserve([reservation]), { reservation, used: 10 });
  assert.deepEqual(sums.read([sum]), [10]);
});

Deno.test("memory sums reserve all of a list or none of it, and name the first that refused", () => {
  const { sums } = setUp();
  const first = { sum: sumOf("requests"), amount: 1, most: 5 };
  const second = { sum: sumOf("tokens"), amount: 8, most: 7 };
  const third = { sum: sumOf("cost"), amount: 8, most: 7 };
  assert.deepEqual(sums.reserve([first, second, third]), {
    reservation: second,
    used: 0,
  });
  assert.deepEqual(sums.read([first.sum, second.sum, third.sum]), [0, 0, 0]);
});

Deno.test("memory sums begin a sum once, and leave one alone that has begun", () => {
  const { sums } = setUp();
  const sum = sumOf("tokens");
  sums.begin([{ sum, amount: 5 }]);
  sums.begin([{ sum, amount: 9 }]);
  assert.deepEqual(sums.read([sum]), [5]);
  sums.add([{ sum, amount: -5 }]);
  sums.begin([{ sum, amount: 9 }]);
  assert.deepEqual(sums.read([sum]), [0]);
});

Deno.test("memory sums end with their window, and so does the memory they take", () => {
  const { clock, sums } = setUp();
  const minute = sumOf("tokens", MINUTE_MS, "alice minute");
  const hour = sumOf("tokens", 60 * MINUTE_MS, "alice hour");
  sums.add([{ sum: minute, amount: 1 }, { sum: hour, amount: 1 }]);
  assert.equal(sums.size, 2);
  clock.nowMs = MINUTE_MS - 1;
  assert.deepEqual(sums.read([minute, hour]), [1, 1]);
  clock.nowMs = MINUTE_MS;
  assert.deepEqual(sums.read([minute, hour]), [0, 1]);
  assert.equal(sums.size, 1);
  assert.deepEqual(sums.table("alice minute"), new Map());
});

Deno.test("memory sums take nothing for a window that has ended", () => {
  const { clock, sums } = setUp();
  clock.nowMs = 2 * MINUTE_MS;
  const sum = sumOf("tokens");
  sums.add([{ sum, amount: -4 }]);
  sums.begin([{ sum, amount: 4 }]);
  assert.deepEqual(sums.read([sum]), [0]);
  assert.equal(sums.size, 0);
});
