import assert from "node:assert/strict";
import { SaidText } from "../../../../src/protocols/responses/items/said_text.ts";

function said(...pieces: readonly string[]): SaidText {
  const text = new SaidText();
  for (const piece of pieces) text.add(piece);
  return text;
}

Deno.test("The rest of a text is what has not come in pieces", () => {
  const long = "word ".repeat(100);
  assert.equal(said().restOf(long), long);
  assert.equal(said("").restOf(long), long);
  assert.equal(said("word", " wo").restOf(long), long.slice(7));
  assert.equal(said(long.slice(0, 300), "w").restOf(long), long.slice(301));
  assert.equal(said(...long).restOf(long), "");
  assert.equal(said("word", " wor").restOf("word w"), "");
});

Deno.test("A text that is another one than that of the pieces has no rest", () => {
  assert.equal(said("fully").restOf("Fully and more"), "");
  assert.equal(said('{"a":1}').restOf('{ "a": 1 }'), "");
  assert.equal(said("x".repeat(100), "b").restOf(`${"x".repeat(101)}c`), "");
});
