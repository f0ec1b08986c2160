import assert from "node:assert/strict";
import { seal, unseal } from "../../src/demo/seal.ts";

Deno.test("unseal() opens what seal() made", () => {
  for (const text of ["", "a.b.c", "line\nline", "ünïcode 🙂"]) {
    assert.equal(unseal(seal(text)), text);
  }
});

Deno.test("unseal() refuses what seal() did not make", () => {
  const altered = btoa(atob(seal("hello")).replace("hello", "hallo"));
  for (const token of ["", "x", "gAAAA", btoa("a.b"), btoa("ÿ"), altered]) {
    assert.equal(unseal(token), undefined);
  }
});
