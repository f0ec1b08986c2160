import assert from "node:assert/strict";
import { randomIds } from "../../src/core/ids.ts";

Deno.test("randomIds.next() gives 32 hexadecimal digits behind the prefix", () => {
  assert.match(randomIds.next("req"), /^req_[0-9a-f]{32}$/);
});

Deno.test("randomIds.next() never gives the same twice", () => {
  const ids = Array.from({ length: 1000 }, () => randomIds.next("req"));
  assert.equal(new Set(ids).size, ids.length);
});
