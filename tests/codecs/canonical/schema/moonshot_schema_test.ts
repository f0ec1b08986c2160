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
a plain schema stays: { type: array, items: { type: string } } → { type: array,
  items: { type: string } }
a type beside \`anyOf\` moves into the branches: { type: string, description: d,
  anyOf: [{ minLength: 1 }, { format: uri }] } → { description: d, anyOf: [{ type: string,
  minLength: 1 }, { type: string, format: uri }] }
a branch of another type keeps it: { type: object, properties: { b: { type: string } },
  anyOf: [{ required: [b] }, { type: string }] } → { anyOf: [{ type: object,
  properties: { b: { type: string } }, required: [b] }, { type: string }] }
\`oneOf\` is \`anyOf\`: { oneOf: [{ type: string }, { type: number }] } →
  { anyOf: [{ type: string }, { type: number }] }
several types are several branches: { type: [string, integer, "null"], minLength: 2, minimum: 1,
  default: null } → { anyOf: [{ type: string, minLength: 2 }, { type: integer, minimum: 1 },
  { type: "null", default: null }] }
\`nullable\` is a branch: { type: string, nullable: true } → { anyOf: [{ type: string },
  { type: "null" }] }
values of several types are distinguished: { enum: [a, 1, null] } → { anyOf: [{ type: string,
  enum: [a] }, { type: number, enum: [1] }, { type: "null" }] }
an empty string and null are no values of an enum: { type: string, enum: ["", a, null] } →
  { type: string, enum: [a] }
integers stay values of an integer: { type: integer, enum: [1, 2] } → { type: integer, enum: [1,
  2] }
\`const\` is an enum of one: { const: a } → { type: string, enum: [a] }
a tuple of one kind is a list: { type: array, items: [{ type: number }, { type: number }] } →
  { type: array, items: { type: number } }
a tuple of several kinds is a list of any, and words keep the order: { type: array,
  prefixItems: [{ type: string }, { type: number }], items: false } → { type: array, maxItems: 2,
  description: "The first items match, in this order:
  [{\\"type\\":\\"string\\"},{\\"type\\":\\"number\\"}]", items: { anyOf: [{ type: string },
  { type: number }] } }
a type is read from the other keywords: { properties: { b: {} } } → { type: object,
  properties: { b: { anyOf: [{ type: string }, { type: number }, { type: boolean },
  { type: object }, { type: array }, { type: "null" }] } } }
\`allOf\` is one schema: { allOf: [{ type: object, properties: { b: { type: string } },
  required: [b] }, { properties: { c: { type: number } }, required: [c] }] } → { type: object,
  properties: { b: { type: string }, c: { type: number } }, required: [b, c] }
branches of branches are branches: { anyOf: [{ anyOf: [{ type: string }, { type: number }] },
  { type: [boolean, "null"] }] } → { anyOf: [{ type: string }, { type: number }, { type: boolean },
  { type: "null" }] }
what is inside is fitted too: { type: object, properties: { b: { type: array,
  items: { const: 1 } } }, additionalProperties: { type: [string, number] } } → { type: object,
  properties: { b: { type: array, items: { type: number, enum: [1] } } },
  additionalProperties: { anyOf: [{ type: string }, { type: number }] } }
`);

for (const [what, given, expected] of CASES) {
  Deno.test(`in a tool for Kimi ${what}`, () => {
    assert.deepEqual(propertyAtKimi(objectOf(given)), expected);
  });
}

Deno.test("a definition for Kimi moves to `$defs`, in Kimi's subset", () => {
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

Deno.test("two references with different fields beside them get a definition each for Kimi", () => {
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

Deno.test("a format for Kimi is in the same subset, and other providers get it unchanged", () => {
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
