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

Deno.test("slotOf() has one for a hash that begins with zeros", () => {
  const slots = createCallerSlots(2);
  const zeros = "0".repeat(64);
  assert.equal(slotOf(slots, zeros), slotOf(slots, zeros));
});
