import assert from "node:assert/strict";
import { createFinder } from "../../src/streams/find_bytes.ts";
import { createRandom } from "../support/fakes/random.ts";

const encoder = new TextEncoder();

Deno.test("createFinder() finds the text at the beginning, in the middle and at the end", () => {
  const find = createFinder('"usage"');
  for (const text of ['"usage"', '"usage":1', '{"usage"', '{"a":"usage"}']) {
    assert.equal(find(encoder.encode(text), 0), text.indexOf('"usage"'), text);
  }
});

Deno.test("createFinder() finds nothing in what lacks the text or ends within it", () => {
  const find = createFinder('"usage"');
  for (const text of ["", '"', '"usage', 'usage"', '"usagf"', '"uusage"']) {
    assert.equal(find(encoder.encode(text), 0), -1, text);
  }
});

Deno.test("createFinder() finds what indexOf finds, whatever repeats", () => {
  const random = createRandom(1);
  const word = (length: number) =>
    Array.from({ length }, () => random.pick(["a", "b"])).join("");
  for (let round = 0; round < 3000; round++) {
    const needle = word(1 + random.below(6));
    const text = word(random.below(20));
    const from = random.below(text.length + 2);
    const found = createFinder(needle)(encoder.encode(text), from);
    const expected = from > text.length ? -1 : text.indexOf(needle, from);
    assert.equal(found, expected, `${needle} in ${text} from ${from}`);
  }
});
