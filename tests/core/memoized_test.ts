import assert from "node:assert/strict";
import { memoized } from "../../src/core/memo.ts";

Deno.test("memoized() computes the value of a text once, and drops all beyond its size", () => {
  const asked: string[] = [];
  const upper = memoized((text) => {
    asked.push(text);
    return text.toUpperCase();
  }, 2);
  for (const text of ["a", "b", "a", "b", "c", "c", "a"]) {
    assert.equal(upper(text), text.toUpperCase());
  }
  assert.deepEqual(asked, ["a", "b", "c", "a"]);
});
