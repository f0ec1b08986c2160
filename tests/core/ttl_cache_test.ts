import assert from "node:assert/strict";
import { TtlCache } from "../../src/core/collections.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

Deno.test("TtlCache keeps a value until it expires", () => {
  const clock = createFakeClock(0);
  const cache = new TtlCache<string, number>(clock);
  cache.set("a", 1, { ttlMs: 100 });
  clock.advance(99);
  assert.equal(cache.get("a"), 1);
  clock.advance(1);
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.size, 0);
});

Deno.test("TtlCache replaces a value together with its expiry", () => {
  const clock = createFakeClock(0);
  const cache = new TtlCache<string, number>(clock);
  cache.set("a", 1, { ttlMs: 100 });
  clock.advance(50);
  cache.set("a", 2, { ttlMs: 100 });
  clock.advance(99);
  assert.equal(cache.get("a"), 2);
});

Deno.test("TtlCache retain() drops the other keys", () => {
  const cache = new TtlCache<string, number>(createFakeClock(0));
  cache.set("a", 1, { ttlMs: 100 });
  cache.set("b", 2, { ttlMs: 100 });
  cache.retain(new Set(["b", "c"]));
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.get("b"), 2);
  assert.equal(cache.size, 1);
});
