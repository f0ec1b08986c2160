import assert from "node:assert/strict";
import {
  argumentsObject,
  argumentsText,
  givenArguments,
} from "../../../../src/protocols/canonical/tools/tool.ts";

Deno.test("argumentsObject() reads an object, and an empty text as no arguments", () => {
  assert.deepEqual(argumentsObject('{"b":1,"a":2}'), { b: 1, a: 2 });
  assert.deepEqual(argumentsObject(" "), {});
  assert.deepEqual(argumentsObject("null"), {});
});

Deno.test("argumentsObject() keeps text that is no object, and argumentsText() restores it", () => {
  for (const text of ['{"a":', "7", "[1]", '{"a":1}{"b":2}']) {
    assert.deepEqual(argumentsObject(text), { _raw: text });
    assert.equal(argumentsText(argumentsObject(text)), text);
  }
});

Deno.test("argumentsText() keeps the order of keys", () => {
  assert.equal(argumentsText({ b: 1, a: 2 }), '{"b":1,"a":2}');
  assert.equal(argumentsText({}), "{}");
  assert.equal(argumentsText(undefined), "");
  assert.equal(argumentsText([1]), "[1]");
});

Deno.test("givenArguments() reads text, an object and every form of no arguments", () => {
  assert.equal(givenArguments('{"a":'), '{"a":');
  assert.equal(givenArguments({ a: 1 }), '{"a":1}');
  for (const none of ["", " ", "null", null, undefined]) {
    assert.equal(givenArguments(none), "");
  }
});
