import assert from "node:assert/strict";
import {
  isDeepJson,
  isHeavyJson,
  isJsonObject,
  parseJson,
  parseLightJson,
  pickFields,
  present,
} from "../../src/core/json.ts";

Deno.test("parseJson() reads every kind of value", () => {
  assert.deepEqual(parseJson(' {"a":[1,"x",null,true]} '), {
    a: [1, "x", null, true],
  });
  assert.equal(parseJson("null"), null);
  assert.equal(parseJson('"x"'), "x");
});

Deno.test("parseJson() returns undefined for text that is not JSON", () => {
  for (
    const text of ["", "{", "{}x", "[DONE]", "NaN", "undefined", "\ufeff1"]
  ) {
    assert.equal(parseJson(text), undefined, text);
  }
});

Deno.test("parseJson() survives nesting of any depth", () => {
  const depth = 1_000_000;
  assert.doesNotThrow(() => parseJson("[".repeat(depth) + "]".repeat(depth)));
});

Deno.test("isDeepJson() counts the levels of objects and arrays, and no brackets in strings", () => {
  const flat = '[[1],{"a":"[[[{{{\\"[[["},[],[],[]]';
  assert.equal(isDeepJson(flat, 2), false);
  assert.equal(isDeepJson(flat, 1), true);
  assert.equal(isDeepJson('{"a":{"a":[]}}', 2), true);
  assert.equal(isDeepJson("[".repeat(1_000_000), 1000), true);
});

Deno.test("isJsonObject() accepts only objects", () => {
  assert.ok(isJsonObject({}));
  assert.ok(isJsonObject({ a: 1 }));
  for (const value of [null, undefined, [], "x", 1, true]) {
    assert.ok(!isJsonObject(value), String(value));
  }
});

Deno.test("pickFields() keeps fields in their order, even one with a prototype's name", () => {
  const object = JSON.parse('{"b":1,"__proto__":{"x":1},"a":null,"c":2}');
  const picked = pickFields(
    object,
    (name, value) => name !== "b" && value !== null,
  );
  assert.equal(JSON.stringify(picked), '{"__proto__":{"x":1},"c":2}');
  assert.equal(Object.getPrototypeOf(picked), Object.prototype);
  assert.deepEqual(pickFields(object, () => false), {});
});

Deno.test("present() leaves out only fields without a value", () => {
  const object = { a: undefined, b: null, c: 0, d: "", e: false };
  assert.deepEqual(Object.keys(present(object)), ["b", "c", "d", "e"]);
});

/** Texts of so many values, which others would wait for, each in another form. */
const MANY: Readonly<Record<string, (count: number) => string>> = {
  elements: (count) => `[${"0,".repeat(count)}0]`,
  members: (count) =>
    `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join()}}`,
  arrays: (count) => `[${"[],".repeat(count / 2)}0]`,
  objects: (count) => `[${"{},".repeat(count / 2)}0]`,
  depth: (count) => "[".repeat(count) + "]".repeat(count),
  lines: (count) => "1\n".repeat(count),
};

Deno.test("isHeavyJson() returns true above 65,536 values of any kind", () => {
  for (const [kind, textOf] of Object.entries(MANY)) {
    assert.ok(isHeavyJson(textOf(70_000)), kind);
    assert.ok(!isHeavyJson(textOf(60_000)), kind);
  }
});

Deno.test("isHeavyJson() counts nothing within strings of any length", () => {
  for (const text of [",", "[{", '\\"', "\\\\", '\\",[', "\\n"]) {
    const long = `{"text":"${text.repeat(200_000)}"}`;
    assert.ok(!isHeavyJson(long), text);
    assert.notEqual(parseLightJson(long), undefined);
    assert.ok(isHeavyJson(`[${long},${MANY.elements?.(70_000)}]`), text);
  }
});

Deno.test("parseLightJson() parses only light JSON", () => {
  assert.deepEqual(parseLightJson('{"a":[1]}'), { a: [1] });
  assert.equal(parseLightJson("{"), undefined);
  for (const textOf of Object.values(MANY)) {
    assert.equal(parseLightJson(textOf(70_000)), undefined);
  }
});
