import assert from "node:assert/strict";
import { lookup } from "../../src/core/collections.ts";

Deno.test("lookup() finds what a table holds, and nothing that every object has", () => {
  const table = { a: 1 };
  assert.equal(lookup(table, "a"), 1);
  for (const key of ["b", "constructor", "toString", "__proto__"]) {
    assert.equal(lookup(table, key), undefined, key);
  }
});
