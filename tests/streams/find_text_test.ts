import assert from "node:assert/strict";
import { createFinder } from "../../src/streams/find_text.ts";
import { createRandom } from "../support/fakes/random.ts";

Deno.test("createFinder() finds the text at the beginning, in the middle and at the end", () => {
  const key = "sk-proj-0123456789";
  const find = createFinder(key);
  for (const text of [key, `${key}.`, `{"${key}"}`, `the key ${key}`]) {
    assert.equal(find(text, 0), text.indexOf(key), text);
  }
});

Deno.test("createFinder() finds nothing in what lacks the text or ends within it", () => {
  const find = createFinder("sk-proj-0123");
  for (const text of ["", "s", "sk-proj-012", "k-proj-0123", "sk-proj-0124"]) {
    assert.equal(find(text, 0), -1, text);
  }
});

Deno.test("createFinder() finds what indexOf finds, whatever repeats", () => {
  const random = createRandom(1);
  const word = (length: number) =>
    Array.from({ length }, () => random.pick(["a", "b", "K"])).join("");
  for (let round = 0; round < 3000; round++) {
    const wanted = word(1 + random.below(9));
    const text = word(random.below(30));
    const from = random.below(text.length + 2);
    assert.equal(
      createFinder(wanted)(text, from),
      text.indexOf(wanted, from),
      `${wanted} in ${text} from ${from}`,
    );
  }
});
