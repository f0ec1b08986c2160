import assert from "node:assert/strict";
import { EmittedText } from "../../../../src/codecs/responses/stream/message_reader.ts";

function said(...pieces: readonly string[]): EmittedText {
  const text = new EmittedText();
  for (const piece of pieces) text.add(piece);
  return text;
}

Deno.test("missingFrom() returns the rest of a text after its pieces", () => {
  const long = "word ".repeat(100);
  assert.equal(said().missingFrom(long), long);
  assert.equal(said("").missingFrom(long), long);
  assert.equal(said("word", " wo").missingFrom(long), long.slice(7));
  assert.equal(
    said(long.slice(0, 300), "w").missingFrom(long),
    long.slice(301),
  );
  assert.equal(said(...long).missingFrom(long), "");
  assert.equal(said("word", " wor").missingFrom("word w"), "");
});

Deno.test("missingFrom() returns an empty text when the final text differs from its pieces", () => {
  assert.equal(said("fully").missingFrom("Fully and more"), "");
  assert.equal(said('{"a":1}').missingFrom('{ "a": 1 }'), "");
  assert.equal(
    said("x".repeat(100), "b").missingFrom(`${"x".repeat(101)}c`),
    "",
  );
});
