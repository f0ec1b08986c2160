import assert from "node:assert/strict";
import { readHeaders } from "../../src/core/header_fields.ts";

Deno.test("readHeaders() returns the same values as the headers", () => {
  const headers = new Headers([
    ["X-B", "2"],
    ["x-a", "1"],
    ["x-b", "3"],
    ["x-empty", ""],
  ]);
  const fields = readHeaders(headers);
  for (const name of ["x-a", "x-b", "x-empty", "x-c"]) {
    assert.equal(fields.get(name) ?? null, headers.get(name), name);
    assert.equal(fields.has(name), headers.has(name), name);
  }
  assert.deepEqual([...fields.keys()], ["x-a", "x-b", "x-empty"]);
  const seen: string[] = [];
  fields.forEach((value, name) => seen.push(`${name}: ${value}`));
  assert.deepEqual(seen, ["x-a: 1", "x-b: 2, 3", "x-empty: "]);
});

Deno.test("readHeaders() treats names of object properties like others", () => {
  const fields = readHeaders(new Headers([["__proto__", "a"]]));
  assert.equal(fields.get("__proto__"), "a");
  assert.equal(fields.has("constructor"), false);
});
