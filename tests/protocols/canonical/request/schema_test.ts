import assert from "node:assert/strict";
import {
  isClosedSchema,
  objectSchema,
} from "../../../../src/protocols/canonical/request/schema.ts";

Deno.test("objectSchema() returns an object with properties", () => {
  assert.deepEqual(objectSchema(undefined), { type: "object", properties: {} });
  assert.deepEqual(objectSchema({ $schema: "x", type: "object" }), {
    type: "object",
    properties: {},
  });
  assert.deepEqual(objectSchema({ properties: { a: {} } }), {
    type: "object",
    properties: { a: {} },
  });
});

Deno.test("objectSchema() adds no properties beside a combination, and does not change other types", () => {
  assert.deepEqual(objectSchema({ anyOf: [{}] }), {
    type: "object",
    anyOf: [{}],
  });
  assert.deepEqual(objectSchema({ type: "string" }), { type: "string" });
});

Deno.test("isClosedSchema() requires closed objects with required properties, at every depth", () => {
  const closed = {
    type: "object",
    properties: { a: {} },
    required: ["a"],
    additionalProperties: false,
  };
  assert.equal(isClosedSchema(closed), true);
  assert.equal(isClosedSchema(undefined), true);
  assert.equal(isClosedSchema({ ...closed, required: [] }), false);
  assert.equal(
    isClosedSchema({ ...closed, additionalProperties: true }),
    false,
  );
  assert.equal(
    isClosedSchema({ type: "array", items: { ...closed, required: [] } }),
    false,
  );
  assert.equal(isClosedSchema({ anyOf: [closed, { type: "string" }] }), true);
  assert.equal(isClosedSchema({ anyOf: [{ properties: { a: {} } }] }), false);
});
