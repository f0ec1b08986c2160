import assert from "node:assert/strict";
import { randomIds } from "../../src/core/ids.ts";

Deno.test("randomIds.next() returns the prefix and 32 hexadecimal digits", () => {
  assert.match(randomIds.next("req"), /^req_[0-9a-f]{32}$/);
});

Deno.test("randomIds.next() never returns the same id twice", () => {
  const ids = Array.from({ length: 1000 }, () => randomIds.next("req"));
  assert.equal(new Set(ids).size, ids.length);
});
