import assert from "node:assert/strict";
import { lookup } from "../../src/core/collections.ts";

Deno.test("lookup() finds the table's own entries only", () => {
  const table = { a: 1 };
  assert.equal(lookup(table, "a"), 1);
  for (const key of ["b", "constructor", "toString", "__proto__"]) {
    assert.equal(lookup(table, key), undefined, key);
  }
});
