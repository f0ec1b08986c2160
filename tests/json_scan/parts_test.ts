import assert from "node:assert/strict";
import { deepEqual, equal } from "node:assert/strict";
import { BitStack } from "../../src/json_scan/walker.ts";
import { createRandom } from "../support/fakes/random.ts";
import { type Place, StringFinder } from "../../src/json_scan/string_finder.ts";

Deno.test("BitStack returns its bits, the last one first, at any depth", () => {
  for (const depth of [0, 1, 31, 32, 33, 64, 65, 1023, 1024, 1025, 5000]) {
    const random = createRandom(depth);
    const bits = Array.from({ length: depth }, () => random.below(2) === 1);
    const stack = new BitStack();
    for (const bit of bits) stack.push(bit);
    const popped: boolean[] = [];
    while (stack.size > 0) {
      popped.push(stack.top);
      stack.pop();
    }
    deepEqual(popped, bits.reverse(), `depth ${depth}`);
    equal(stack.top, false);
  }
});

Deno.test("BitStack behaves like a list while it grows and shrinks by turns", () => {
  const random = createRandom(1);
  const list: boolean[] = [];
  const stack = new BitStack();
  for (let round = 0; round < 20_000; round++) {
    if (random.below(100) < (round < 10_000 ? 60 : 40) || list.length === 0) {
      const bit = random.below(2) === 1;
      list.push(bit);
      stack.push(bit);
    } else {
      list.pop();
      stack.pop();
    }
    equal(stack.size, list.length);
    equal(stack.top, list.at(-1) ?? false);
  }
});

const HERE: Place = { wantsString: true };
const MODELS: Place = {
  wantsString: true,
  member: (name) => name === "model" ? HERE : undefined,
};
const ONLY: Place = { only: { name: "models", place: HERE } };
const LISTS: Place = { member: () => ({ wantsString: "in_list" }) };

type Found = readonly [text: string | undefined, unit: number];

/** Returns the strings that are found in a value in pieces of `size` bytes. */
function find(text: string, place: Place, pieceBytes = Infinity): Found[] {
  const found: Found[] = [];
  const strings = new StringFinder(
    place,
    (one) => found.push([one.text, one.unit]),
  );
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    // The copy is overwritten afterwards, so that the finder must not keep it.
    const piece = bytes.slice(start, start + pieceBytes);
    strings.push(piece);
    piece.fill(0);
  }
  return found;
}

const CASES: readonly (readonly [string, Place, readonly Found[]])[] = [
  ['"a"', MODELS, [["a", 0]]],
  ["[]", MODELS, []],
  ["null", MODELS, []],
  ["[1,true,null,-1e5]", MODELS, []],
  ['["a", "b"]', MODELS, [["a", 0], ["b", 0]]],
  ['["",[["é😀"]]]', MODELS, [["", 0], ["é😀", 0]]],
  ['["\\"a\\\\","\\u0061\\/\\n"]', MODELS, [['"a\\', 0], ["a/\n", 0]]],
  ['{"model":"a"}', MODELS, [["a", 0]]],
  ['[{"model":"a","x":"y"},{"x":1},{"model":"b"}]', MODELS, [["a", 0], [
    "b",
    0,
  ]]],
  ['{"model":"a","model":"b"}', MODELS, [["a", 0], ["b", 0]]],
  ['{"mod\\u0065l":"a","MODEL":"b"}', MODELS, [["a", 0], ["b", 0]]],
  ['{"x":{"model":"a"},"y":[{"model":"b"}]}', MODELS, []],
  ['{"x":{"model":"a"},"model":["b",{"model":"c"}]}', MODELS, [["b", 0]]],
  ['{"x":[{}],"model":"a"}', MODELS, [["a", 0]]],
  ['{"x":"model","y":"}","z":"]","model":"a"}', MODELS, [["a", 0]]],
  ['{"model":{"model":"a"},"x":[],"model" : "b" }', MODELS, [["b", 0]]],
  ['{"__proto__":"a","constructor":"b"}', MODELS, []],
  ['{"models":"a","model":"b","modelss":"c","":"d"}', ONLY, [["a", 0]]],
  ['[{"x":{"models":"a"},"MODEL\u017f":"b"},{"m\\u006fdels":"c"}]', ONLY, [
    ["b", 0],
    ["c", 0],
  ]],
  [`{"${"x".repeat(40)}":"a","models":"b","x":["models"]}`, ONLY, [["b", 0]]],
  ['{"a":"b","c":["d",["e"],{"f":"g"}],"h":["i"]}', LISTS, [
    ["d", 0],
    ["e", 0],
    ["i", 0],
  ]],
];

Deno.test("StringFinder finds the strings at the given places, in input pieces of any length", () => {
  for (const [text, place, expected] of CASES) {
    const { length } = new TextEncoder().encode(text);
    for (let pieceBytes = 1; pieceBytes <= length; pieceBytes++) {
      assert.deepEqual(find(text, place, pieceBytes), expected, text);
    }
  }
});

/** Objects with a name, which may contain further ones. */
const UNITS: Place = {
  isUnit: true,
  member: (name) =>
    name === "name" ? HERE : name === "inside" ? UNITS : undefined,
};

Deno.test("StringFinder reports each string with the innermost unit around it, and the end of each unit", () => {
  const text =
    '[{"name":"a","inside":[{"name":"b"},[{"x":{}}]],"name":"c"},{"name":"d"}]';
  for (let pieceBytes = 1; pieceBytes <= text.length; pieceBytes++) {
    const reported: string[] = [];
    const strings = new StringFinder(
      UNITS,
      ({ text, unit }) => reported.push(`${text}${unit}`),
      (unit) => reported.push(`end${unit}`),
    );
    for (let start = 0; start < text.length; start += pieceBytes) {
      const piece = text.slice(start, start + pieceBytes);
      strings.push(new TextEncoder().encode(piece));
    }
    assert.equal(reported.join(" "), "a1 b2 end2 end3 c1 end1 d4 end4");
  }
});

Deno.test("StringFinder accepts names in any case, also with special case mappings", () => {
  const place: Place = {
    member: (name) => name === "fallbacks" ? HERE : undefined,
  };
  for (const name of ["FallBacks", "fallbac\u212as", "fallback\u017f"]) {
    assert.deepEqual(find(`{"${name}":"a"}`, place), [["a", 0]], name);
  }
});

Deno.test("StringFinder drops a long string, and continues after it", () => {
  for (const pieceBytes of [100, 100_000]) {
    const found = find(`["${"x".repeat(2000)}","a"]`, MODELS, pieceBytes);
    assert.deepEqual(found, [[undefined, 0], ["a", 0]]);
    const named = find(
      `{"${"x".repeat(2000)}":"a","model":"b"}`,
      MODELS,
      pieceBytes,
    );
    assert.deepEqual(named, [["b", 0]]);
  }
});

Deno.test("StringFinder reports when it has skipped lists that are nested too deeply", () => {
  const depth = 100_000;
  const text = `${"[".repeat(depth)}"a"${"]".repeat(depth)}`;
  assert.deepEqual(find(text, MODELS), [[undefined, 0]]);
  assert.deepEqual(find(`[${text},"b"]`, MODELS), [[undefined, 0], ["b", 0]]);
});
