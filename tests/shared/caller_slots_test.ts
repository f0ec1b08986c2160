import assert from "node:assert/strict";
import { createCallerSlots, slotOf } from "../../src/shared/caller_slots.ts";
import { sha256Hex } from "../../src/core/sha256.ts";

Deno.test("slotOf() gives each caller a slot of its own, the same in every thread", () => {
  const slots = createCallerSlots();
  const keys = Array.from({ length: 5000 }, (_, at) => sha256Hex(`${at}`));
  const found = keys.map((key) => slotOf(slots, key));
  assert.equal(new Set(found).size, keys.length);
  assert.ok(!found.includes(undefined));
  const elsewhere = structuredClone(slots);
  assert.deepEqual(keys.map((key) => slotOf(elsewhere, key)), found);
});

Deno.test("slotOf() has none when all are taken, or for a key that is no hash", () => {
  const slots = createCallerSlots(8);
  const keys = Array.from({ length: 9 }, (_, at) => sha256Hex(`${at}`));
  const found = keys.map((key) => slotOf(slots, key));
  assert.equal(found.pop(), undefined);
  assert.deepEqual(found.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(slotOf(createCallerSlots(), "unknown"), undefined);
});

Deno.test("slotOf() keeps the slot of a hash that begins with zeros from others", () => {
  const slots = createCallerSlots();
  const zeros = slotOf(slots, "0".repeat(64));
  assert.equal(slotOf(slots, "0".repeat(64)), zeros);
  for (const word of ["00000000", "00000001"]) {
    assert.notEqual(
      slotOf(slots, `1${"0".repeat(7)}${word}`.padEnd(64, "0")),
      zeros,
    );
  }
});
