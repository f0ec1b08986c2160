import assert from "node:assert/strict";
import {
  isJsonObject,
  parseJson,
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

Deno.test("parseJson() gives undefined for what is not JSON", () => {
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

Deno.test("isJsonObject() knows an object from everything else", () => {
  assert.ok(isJsonObject({}));
  assert.ok(isJsonObject({ a: 1 }));
  for (const value of [null, undefined, [], "x", 1, true]) {
    assert.ok(!isJsonObject(value), String(value));
  }
});

Deno.test("pickFields() keeps fields in their order, one that is called like a prototype too", () => {
  const object = JSON.parse('{"b":1,"__proto__":{"x":1},"a":null,"c":2}');
  const picked = pickFields(
    object,
    (name, value) => name !== "b" && value !== null,
  );
  assert.equal(JSON.stringify(picked), '{"__proto__":{"x":1},"c":2}');
  assert.equal(Object.getPrototypeOf(picked), Object.prototype);
  assert.deepEqual(pickFields(object, () => false), {});
});

Deno.test("present() leaves out what has no value, and nothing else", () => {
  const object = { a: undefined, b: null, c: 0, d: "", e: false };
  assert.deepEqual(Object.keys(present(object)), ["b", "c", "d", "e"]);
});
