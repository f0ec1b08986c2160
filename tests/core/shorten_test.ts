import assert from "node:assert/strict";
import { shorten } from "../../src/core/shorten.ts";

Deno.test("shorten() leaves a text as it is up to the length", () => {
  assert.equal(shorten("", 3), "");
  assert.equal(shorten("abc", 3), "abc");
});

Deno.test("shorten() cuts a longer one and says so", () => {
  assert.equal(shorten("abcd", 3), "abc…");
});

Deno.test("shorten() leaves no half of a character", () => {
  assert.equal(shorten("ab😀", 3), "ab\ufffd…");
});
