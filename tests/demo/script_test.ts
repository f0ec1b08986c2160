import assert from "node:assert/strict";
import { fragmentsOf, wordsOf } from "../../src/demo/script.ts";
import { seal, unseal } from "../support/upstream/strict_provider/seal.ts";

Deno.test("wordsOf() splits after every blank and loses nothing", () => {
  assert.deepEqual(wordsOf("one  two\nthree "), ["one  ", "two\n", "three "]);
  assert.deepEqual(wordsOf(" x"), [" ", "x"]);
  assert.deepEqual(wordsOf(""), []);
});

Deno.test("fragmentsOf() returns short pieces and splits no character", () => {
  const input = `{"text":"${"🙂".repeat(20)}"}`;
  const fragments = fragmentsOf(input);
  assert.equal(fragments.join(""), input);
  assert(fragments.length > 1);
  assert(fragments.every((fragment) => fragment.isWellFormed()));
  assert.deepEqual(fragmentsOf(""), []);
});

Deno.test("unseal() opens what seal() made", () => {
  for (const text of ["", "a.b.c", "line\nline", "ünïcode 🙂"]) {
    assert.equal(unseal(seal(text)), text);
  }
});

Deno.test("unseal() rejects text that seal() did not make", () => {
  const altered = btoa(atob(seal("hello")).replace("hello", "hallo"));
  for (const token of ["", "x", "gAAAA", btoa("a.b"), btoa("ÿ"), altered]) {
    assert.equal(unseal(token), undefined);
  }
});
