import assert from "node:assert/strict";
import { valueAt } from "../../../src/limits/readers/json_pointer.ts";

const DOCUMENT = { a: [{ "x/y": 1, "m~n": null }], "": { "": 2 }, "0": 3 };

Deno.test("valueAt() finds what a JSON pointer names", () => {
  assert.equal(valueAt(DOCUMENT, ""), DOCUMENT);
  assert.equal(valueAt(DOCUMENT, "/a/0/x~1y"), 1);
  assert.equal(valueAt(DOCUMENT, "/a/0/m~0n"), null);
  assert.equal(valueAt(DOCUMENT, "//"), 2);
  assert.equal(valueAt(DOCUMENT, "/0"), 3);
});

Deno.test("valueAt() finds nothing beyond the document's own members", () => {
  for (
    const pointer of [
      "/b",
      "/a/1",
      "/a/-",
      "/a/0/m~0n/deeper",
      "/constructor",
      "/__proto__",
      "/a/0/toString",
    ]
  ) {
    assert.equal(valueAt(DOCUMENT, pointer), undefined, pointer);
  }
  assert.equal(valueAt("text", "/length"), undefined);
});
