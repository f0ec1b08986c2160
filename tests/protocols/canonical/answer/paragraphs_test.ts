import assert from "node:assert/strict";
import { Paragraphs } from "../../../../src/protocols/canonical/answer/readable.ts";

Deno.test("Paragraphs join texts that follow each other", () => {
  const paragraphs = new Paragraphs();
  assert.equal(paragraphs.join("one"), "one");
  assert.equal(paragraphs.join(" two"), " two");
});

Deno.test("Paragraphs separate texts that are apart, once", () => {
  const paragraphs = new Paragraphs();
  paragraphs.join("one");
  paragraphs.part();
  paragraphs.part();
  assert.equal(paragraphs.join("two"), "\n\ntwo");
  assert.equal(paragraphs.join(" more"), " more");
});

Deno.test("Paragraphs put nothing before the first text", () => {
  const paragraphs = new Paragraphs();
  paragraphs.part();
  assert.equal(paragraphs.join("one"), "one");
});
