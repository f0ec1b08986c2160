import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../src/core/json.ts";
import { exampleOf } from "../../src/demo/schema_example.ts";

const EXAMPLES: readonly (readonly [
  name: string,
  schema: JsonObject,
  example: JsonValue,
])[] = [
  ["a text", { type: "string" }, "demo"],
  ["no type at all", {}, "demo"],
  ["a boolean", { type: "boolean" }, true],
  ["null", { type: "null" }, null],
  ["several types", { type: ["null", "integer"] }, 1],
  ["a constant", { const: 7 }, 7],
  ["a default", { type: "string", default: "x" }, "x"],
  ["an example", { type: "string", examples: ["y", "z"] }, "y"],
  ["a choice", { enum: ["celsius", "kelvin"] }, "celsius"],
  ["a number", { type: "number" }, 1],
  ["a least number", { type: "integer", minimum: 5 }, 5],
  ["an excluded least number", { type: "integer", exclusiveMinimum: 5 }, 6],
  ["a greatest number", { type: "integer", maximum: -3 }, -3],
  ["an excluded greatest number", { type: "integer", exclusiveMaximum: 0 }, -1],
  ["a step", { type: "integer", minimum: 7, multipleOf: 5 }, 10],
  ["a format", { type: "string", format: "date" }, "2026-01-01"],
  ["a least length", { type: "string", minLength: 6 }, "demooo"],
  ["a greatest length", { type: "string", maxLength: 2 }, "de"],
  ["a list", { type: "array", items: { type: "integer" } }, [1]],
  ["a list without a type", { items: { const: 2 }, minItems: 2 }, [2, 2]],
  ["an empty list", { type: "array", maxItems: 0 }, []],
  [
    "the required fields alone",
    {
      type: "object",
      properties: { city: {}, unit: {}, days: { type: "integer" } },
      required: ["city", "days"],
    },
    { city: "Berlin", days: 1 },
  ],
  [
    "the first field where none is required",
    { properties: { path: {}, limit: {} } },
    { path: "demo.txt" },
  ],
  ["an object without fields", { type: "object" }, {}],
  [
    "the name of a list for its items",
    { type: "object", properties: { emails: { type: "array", items: {} } } },
    { emails: ["demo@example.com"] },
  ],
  ["the first alternative", { anyOf: [{ type: "null" }, { const: 3 }] }, 3],
  ["one of several", { oneOf: [{ type: "boolean" }, { const: 3 }] }, true],
  ["no alternative but null", { anyOf: [{ type: "null" }] }, "demo"],
  [
    "all of several",
    {
      allOf: [
        { properties: { a: { const: 1 } }, required: ["a"] },
        { properties: { b: { const: 2 } }, required: ["b"] },
      ],
    },
    { a: 1, b: 2 },
  ],
  [
    "a reference",
    {
      properties: { spot: { $ref: "#/$defs/a~1b" } },
      $defs: { "a/b": { const: "here" } },
    },
    { spot: "here" },
  ],
  ["a reference to elsewhere", { $ref: "https://example.com/x" }, "demo"],
  ["a reference to itself", { $ref: "#" }, "demo"],
];

Deno.test("exampleOf() makes a value for", async (t) => {
  for (const [name, schema, example] of EXAMPLES) {
    await t.step(name, () => assert.deepEqual(exampleOf(schema), example));
  }
});

Deno.test("exampleOf() ends for a schema that nests in itself", () => {
  const example = exampleOf({
    type: "object",
    properties: { child: { $ref: "#" }, list: { items: { $ref: "#" } } },
    required: ["child", "list"],
  });
  assert(JSON.stringify(example).length < 10_000);
});
