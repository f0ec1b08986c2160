import assert from "node:assert/strict";
import { Recent } from "../../src/core/collections.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

function begin() {
  const clock = createFakeClock(NOW_MS);
  const recent = new Recent<number>({ clock, ttlMs: 1000, maxSize: 2 });
  return { clock, recent };
}

Deno.test("Recent keeps a value for its lifetime after the last set", () => {
  const { clock, recent } = begin();
  recent.set("a", 1);
  clock.advance(999);
  assert.equal(recent.get("a"), 1);
  recent.set("a", 2);
  clock.advance(999);
  assert.equal(recent.get("a"), 2);
  clock.advance(1);
  assert.equal(recent.get("a"), undefined);
  assert.equal(recent.size, 0);
});

Deno.test("Recent drops the oldest value when it is full", () => {
  const { recent } = begin();
  recent.set("a", 1);
  recent.set("b", 2);
  recent.set("a", 3);
  recent.set("c", 4);
  assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c")], [
    3,
    undefined,
    4,
  ]);
  assert.equal(recent.size, 2);
});
