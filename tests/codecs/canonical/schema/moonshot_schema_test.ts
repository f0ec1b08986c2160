import assert from "node:assert/strict";
import { type JsonObject, objectOf } from "../../../../src/base/json.ts";
import {
  received,
  userRequest,
} from "../../../support/dialects/upstream_request.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";

// Moonshot's own subset of JSON Schema, which its servers demand for tools and formats: "when using
// anyOf, type should be defined in anyOf items instead of the parent schema"
// https://github.com/MoonshotAI/kimi-cli/issues/1595, https://forum.moonshot.ai/t/102,
// https://github.com/MoonshotAI/walle

/** Returns the schema of a tool's property as Kimi receives it. */
function atKimi(property: JsonObject, root: JsonObject = {}): unknown {
  const parameters: JsonObject = {
    type: "object",
    properties: { a: property },
    ...root,
  };
  const sent = received("responses", "chat kimi kimi-k2.6", {
    tools: [{ type: "function", name: "f", strict: false, parameters }],
  });
  assert.deepEqual(sent.dropped, []);
  const tools: unknown = sent.body.tools;
  return Array.isArray(tools) ? tools[0].function.parameters : undefined;
}

function propertyAtKimi(property: JsonObject): unknown {
  const parameters = atKimi(property);
  assert.ok(
    typeof parameters === "object" && parameters !== null &&
      "properties" in parameters,
  );
  const { properties } = parameters;
  assert.ok(
    typeof properties === "object" && properties !== null && "a" in properties,
  );
  return properties.a;
}

const CASES = yamlPairs(`
a plain schema does not change: { type: array, items: { type: string } } → { type: array,
  items: { type: string } }
a type beside \`anyOf\` moves into the branches: { type: string, description: d,
  anyOf: [{ minLength: 1 }, { format: uri }] } → { description: d, anyOf: [{ type: string,
  minLength: 1 }, { type: string, format: uri }] }
a branch keeps its own type: { type: object, properties: { b: { type: string } },
  anyOf: [{ required: [b] }, { type: string }] } → { anyOf: [{ type: object,
  properties: { b: { type: string } }, required: [b] }, { type: string }] }
\`oneOf\` becomes \`anyOf\`: { oneOf: [{ type: string }, { type: number }] } →
  { anyOf: [{ type: string }, { type: number }] }
several types become branches: { type: [string, integer, "null"], minLength: 2, minimum: 1,
  default: null } → { anyOf: [{ type: string, minLength: 2 }, { type: integer, minimum: 1 },
  { type: "null", default: null }] }
\`nullable\` becomes a branch: { type: string, nullable: true } → { anyOf: [{ type: string },
  { type: "null" }] }
enum values of several types become branches: { enum: [a, 1, null] } → { anyOf: [{ type: string,
  enum: [a] }, { type: number, enum: [1] }, { type: "null" }] }
an enum loses empty strings and nulls: { type: string, enum: ["", a, null] } →
  { type: string, enum: [a] }
an integer keeps an enum of integers: { type: integer, enum: [1, 2] } → { type: integer, enum: [1,
  2] }
\`const\` becomes an enum: { const: a } → { type: string, enum: [a] }
a tuple of equal schemas becomes a list: { type: array, items: [{ type: number }, { type: number }] } →
  { type: array, items: { type: number } }
a tuple becomes a list, and the description keeps its order: { type: array,
  prefixItems: [{ type: string }, { type: number }], items: false } → { type: array, maxItems: 2,
  description: "The first items match, in this order:
  [{\\"type\\":\\"string\\"},{\\"type\\":\\"number\\"}]", items: { anyOf: [{ type: string },
  { type: number }] } }
the other keywords imply a missing type: { properties: { b: {} } } → { type: object,
  properties: { b: { anyOf: [{ type: string }, { type: number }, { type: boolean },
  { type: object }, { type: array }, { type: "null" }] } } }
\`allOf\` becomes one schema: { allOf: [{ type: object, properties: { b: { type: string } },
  required: [b] }, { properties: { c: { type: number } }, required: [c] }] } → { type: object,
  properties: { b: { type: string }, c: { type: number } }, required: [b, c] }
inner branches move up: { anyOf: [{ anyOf: [{ type: string }, { type: number }] },
  { type: [boolean, "null"] }] } → { anyOf: [{ type: string }, { type: number }, { type: boolean },
  { type: "null" }] }
inner schemas are fitted: { type: object, properties: { b: { type: array,
  items: { const: 1 } } }, additionalProperties: { type: [string, number] } } → { type: object,
  properties: { b: { type: array, items: { type: number, enum: [1] } } },
  additionalProperties: { anyOf: [{ type: string }, { type: number }] } }
`);

for (const [what, given, expected] of CASES) {
  Deno.test(`in a tool for Kimi, ${what}`, () => {
    assert.deepEqual(propertyAtKimi(objectOf(given)), expected);
  });
}

Deno.test("Kimi gets definitions in `$defs`, without the keywords that Kimi rejects", () => {
  assert.deepEqual(
    atKimi({ $ref: "#/definitions/b" }, {
      definitions: { b: { const: "x" } },
      $schema: "https://json-schema.org/draft/2020-12/schema",
    }),
    {
      type: "object",
      properties: { a: { $ref: "#/$defs/b" } },
      $defs: { b: { type: "string", enum: ["x"] } },
    },
  );
});

Deno.test("a description beside a reference for Kimi moves into the definition", () => {
  const b = { type: "string", description: "A city" };
  const parameters = atKimi({ $ref: "#/definitions/b", description: "From" }, {
    definitions: { b, unused: {} },
  });
  assert.deepEqual(parameters, {
    type: "object",
    properties: { a: { $ref: "#/$defs/b" } },
    $defs: { b: { type: "string", description: "A city\n\nFrom" } },
  });
});

Deno.test("Kimi gets a separate definition for each set of fields beside a reference", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/n" } } };
  const parameters = atKimi({}, {
    properties: {
      a: { $ref: "#/$defs/n", description: "First" },
      c: { $ref: "#/$defs/n", minProperties: 1 },
    },
    $defs: { n: node },
  });
  const properties = { next: { $ref: "#/$defs/n_2" } };
  assert.deepEqual(parameters, {
    type: "object",
    properties: { a: { $ref: "#/$defs/n" }, c: { $ref: "#/$defs/n_1" } },
    $defs: {
      n: { type: "object", properties, description: "First" },
      n_1: { type: "object", properties, minProperties: 1 },
      n_2: { type: "object", properties },
    },
  });
});

Deno.test("Kimi gets a format in Kimi's subset of JSON Schema, and other providers get the format unchanged", () => {
  const schema = { type: "object", properties: { a: { type: ["string"] } } };
  const format = { type: "json_schema", name: "n", schema };
  const asked = userRequest("responses", { text: { format } });
  const at = (service: string) =>
    JSON.stringify(
      received("responses", `chat ${service} m`, asked).body,
    );
  assert.match(at("moonshot"), /"a":\{"type":"string"\}/);
  assert.match(at("custom"), /"a":\{"type":\["string"\]\}/);
});
