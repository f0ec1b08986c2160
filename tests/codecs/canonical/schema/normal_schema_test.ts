import assert from "node:assert/strict";
import { type JsonObject, objectOf } from "../../../../src/base/json.ts";
import {
  createStrictRoom,
  enforceableSchema,
} from "../../../../src/codecs/canonical/schema/enforceable_schema.ts";
import { moonshotSchema } from "../../../../src/codecs/canonical/schema/moonshot_schema.ts";
import { normalSchema } from "../../../../src/codecs/canonical/schema/normal_schema.ts";
import { objectSchema } from "../../../../src/codecs/canonical/schema/object_schema.ts";
import { isGrammarPattern } from "../../../../src/codecs/canonical/schema/portable_pattern.ts";
import { rootObject } from "../../../../src/codecs/canonical/schema/root_object.ts";
import { fitArguments } from "../../../../src/codecs/canonical/schema/schema_subset.ts";
import { schemaSubsetOf } from "../../../../src/codecs/dialects/schema_subsets.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";
import { received } from "../../../support/dialects/upstream_request.ts";

const CASES = yamlPairs(`
flags of exclusive bounds in draft 4 become bounds: { type: integer, minimum: 0, exclusiveMinimum: true,
  maximum: 9, exclusiveMaximum: false } → { type: integer, exclusiveMinimum: 0, maximum: 9 }
a tuple becomes \`prefixItems\`: { type: array, items: [{ type: string }], additionalItems: false } →
  { type: array, prefixItems: [{ type: string }], items: false }
definitions move to \`$defs\`: { "$ref": "#/definitions/a", definitions: { a: { type: string } } } →
  { "$ref": "#/$defs/a", "$defs": { a: { type: string } } }
an empty list of PHP becomes an empty object: { type: object, properties: [], patternProperties: [],
  additionalProperties: [] } → { type: object, properties: {}, patternProperties: {},
  additionalProperties: {} }
a null of Go is left out: { type: object, properties: null, required: null, description: null,
  enum: null, anyOf: null, items: null } → { type: object }
flags of required properties in draft 3 become a list: { type: object, required: [b], properties: {
  a: { type: string, required: true }, b: { required: false } } } → { type: object,
  required: [b, a], properties: { a: { type: string }, b: {} } }
an unknown type is left out: { properties: { a: { type: any }, b: { type: [file, string, string] } } }
  → { properties: { a: {}, b: { type: [string] } } }
a type of draft 3 that is a schema allows every value: { properties: {
  a: { type: [{ type: string }, "null"] }, b: { type: [any, "null"] } } } →
  { properties: { a: {}, b: {} } }
types in capitals become lower case: { type: OBJECT, properties: { a: { type: STRING } } } → { type: object,
  properties: { a: { type: string } } }
every list gets items: { type: object, properties: { a: { anyOf: [{ type: array },
  { type: [array, "null"] }] } } } → { type: object, properties: { a: { anyOf: [{ type: array,
  items: {} }, { type: [array, "null"], items: {} }] } } }
\`nullable\` becomes a type: { type: string, nullable: true } → { type: [string, "null"] }
\`nullable\` beside a choice becomes a choice: { nullable: true, oneOf: [{ type: string }] } →
  { anyOf: [{ oneOf: [{ type: string }] }, { type: "null" }] }
\`dependencies\` become lists or schemas: { dependencies: { a: [b], c: { required: [d] } } } →
  { dependentRequired: { a: [b] }, dependentSchemas: { c: { required: [d] } } }
ids and drafts are left out, but not properties of these names: { "$schema": x, id: y, "$id": z,
  "$anchor": w, properties: { id: { type: string }, "$ref": { type: string } } } →
  { properties: { id: { type: string }, "$ref": { type: string } } }
invalid values are left out: { minLength: "1", maxItems: -1, minimum: "0", pattern: 5,
  title: 1, uniqueItems: "yes", enum: [], anyOf: [], examples: a } → {}
a choice that is a schema becomes a list: { anyOf: { type: string } } → { anyOf: [{ type: string }] }
an unknown field is kept: { x-order: [a], enumNames: [b], const: { type: any } } → { x-order: [a],
  enumNames: [b], const: { type: any } }
`);

for (const [what, given, expected] of CASES) {
  Deno.test(`after normalSchema(), ${what}`, () => {
    assert.deepEqual(normalSchema(objectOf(given)), expected);
  });
}

const TEXT = { type: "string" };

Deno.test("normalSchema() finds the definition of a reference in any notation", () => {
  const forms: [string, JsonObject][] = [
    ["#/properties/b/items", {}],
    ["#/definitions/A~1b~0c", { definitions: { "A/b~c": TEXT } }],
    ["#/$defs/with%20space", { $defs: { "with space": TEXT } }],
    ["#/$defs/100%", { $defs: { "100%": TEXT } }],
    ["#here", { $defs: { x: { $anchor: "here", ...TEXT } } }],
    ["#here", { definitions: { x: { $id: "#here", ...TEXT } } }],
    ["#here", { definitions: { x: { id: "#here", ...TEXT } } }],
    ["city.json", { $defs: { x: { $id: "city.json", ...TEXT } } }],
    ["https://x.example/c", {
      $id: "https://x.example/root",
      $defs: { x: { $id: "c", ...TEXT } },
    }],
    ["#/components/schemas/City", { components: { schemas: { City: TEXT } } }],
    ["#/components/schemas/City", { $defs: { City: TEXT } }],
    ["City", { definitions: { City: TEXT } }],
  ];
  for (const [$ref, root] of forms) {
    const normal = normalSchema({
      properties: { a: { $ref }, b: { type: "array", items: TEXT } },
      ...root,
    });
    const [name = "", ...others] = Object.keys(Object(normal.$defs));
    assert.deepEqual(others, [], $ref);
    assert.match(name, /^[\w.-]+$/);
    assert.deepEqual(normal, {
      properties: {
        a: { $ref: `#/$defs/${name}` },
        b: { type: "array", items: TEXT },
      },
      $defs: { [name]: TEXT },
    });
  }
});

Deno.test("rootObject() keeps references in a choice at the root, when the choice becomes one object", () => {
  const to = { type: "array", items: TEXT };
  const schema = {
    anyOf: [
      { type: "object", properties: { to }, required: ["to"] },
      { properties: { cc: { $ref: "#/anyOf/0/properties/to" } } },
    ],
  };
  assert.deepEqual(rootObject(schema), {
    type: "object",
    properties: { to, cc: { $ref: "#/$defs/to" } },
    required: [],
    $defs: { to },
  });
});

Deno.test("normalSchema() gives recursive references of every draft a definition", () => {
  const list = (reference: JsonObject) => ({ type: "array", items: reference });
  const forms: JsonObject[] = [
    { properties: { kids: list({ $ref: "#" }) } },
    {
      $recursiveAnchor: true,
      properties: { kids: list({ $recursiveRef: "#" }) },
    },
    { $dynamicAnchor: "n", properties: { kids: list({ $dynamicRef: "#n" }) } },
  ];
  for (const form of forms) {
    const [name = ""] = Object.keys(Object(normalSchema(form).$defs));
    const root = { properties: { kids: list({ $ref: `#/$defs/${name}` }) } };
    assert.deepEqual(normalSchema(form), { ...root, $defs: { [name]: root } });
  }
});

Deno.test(
  "a reference without a definition moves into the description",
  () => {
    assert.deepEqual(
      normalSchema({
        properties: { a: { $ref: "https://x.example/y", title: "A" } },
      }),
      {
        properties: {
          a: {
            title: "A",
            description: "Must match the schema https://x.example/y",
          },
        },
      },
    );
  },
);

Deno.test("llama.cpp, LM Studio and Ollama get only patterns that their grammars support, in every protocol", () => {
  const kept = ["^[a-z]+$", "^(a|b)-[0-9]{2,4}$", "^\\$\\.x$", "^[^\\]\\\\]*$"];
  const moved = [
    "a",
    "^a",
    "a$",
    "^a\\$",
    "^\\d+$",
    "^[\\w-]+$",
    "^\\/x$",
    "^[a\\-b]$",
    "^(?!x)a$",
    "^(?:a)$",
    "^a|b$",
    "^a+?$",
    "^$",
    "^a$b$",
    "\\S",
  ];
  for (const pattern of kept) assert.ok(isGrammarPattern(pattern), pattern);
  for (const pattern of moved) assert.ok(!isGrammarPattern(pattern), pattern);
  const parameters = {
    type: "object",
    properties: { a: { type: "string", pattern: "^\\d+$" } },
  };
  const tools = [{ type: "function", name: "f", parameters }];
  for (const service of ["llamacpp", "lmstudio", "ollama"]) {
    for (const protocol of ["chat", "messages"]) {
      const { body, dropped } = received(
        "responses",
        `${protocol} ${service} m`,
        { tools },
      );
      const text = JSON.stringify(body.tools);
      assert.doesNotMatch(text, /"pattern"/, protocol);
      assert.ok(text.includes("Must match the regular expression ^\\\\d+$"));
      assert.deepEqual(dropped, ["pattern"]);
    }
  }
  const { body } = received("responses", "chat vllm m", { tools });
  assert.match(JSON.stringify(body.tools), /"pattern"/);
});

/** Returns a closed object with `optional` optional parameters and `unions` choices. */
function strictSchema(optional: number, unions: number): JsonObject {
  const names = Array.from({ length: optional + unions }, (_, at) => `p${at}`);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name, at) => [
      name,
      { type: at < optional ? "string" : ["string", "null"] },
    ])),
    required: names.slice(optional),
    additionalProperties: false,
  };
}

Deno.test("Claude gets as many strict tools as its limits allow; the rest lose `strict`, which is named", () => {
  const strictOf = (schemas: readonly JsonObject[]) => {
    const { body, dropped } = received(
      "responses",
      "messages anthropic claude-opus-5",
      {
        tools: schemas.map((parameters, at) => ({
          type: "function",
          name: `f${at}`,
          strict: true,
          parameters,
        })),
      },
    );
    const tools = body.tools;
    assert.ok(Array.isArray(tools));
    const flags = tools.map((tool) => Object(tool).strict === true ? "s" : "-");
    return [flags.join(""), ...dropped];
  };
  const many = (count: number) =>
    Array.from({ length: count }, () => strictSchema(0, 0));
  assert.deepEqual(strictOf(many(20)), ["s".repeat(20)]);
  assert.deepEqual(strictOf(many(22)), [
    "s".repeat(20) + "--",
    "tools[].strict",
  ]);
  const optional = [
    strictSchema(20, 0),
    strictSchema(5, 0),
    strictSchema(4, 0),
  ];
  assert.deepEqual(strictOf(optional), ["s-s", "tools[].strict"]);
  const unions = [strictSchema(0, 16), strictSchema(0, 1), strictSchema(1, 0)];
  assert.deepEqual(strictOf(unions), ["s-s", "tools[].strict"]);
});

Deno.test("the optional parameters of a definition count once for each use", () => {
  const d = strictSchema(5, 0);
  const uses = (count: number) => {
    const { required: _all, ...object } = strictSchema(0, count);
    const names = Object.keys(Object(object.properties));
    return enforceableSchema({
      ...object,
      required: names,
      properties: Object.fromEntries(
        names.map((name) => [name, { $ref: "#/$defs/d" }]),
      ),
      $defs: { d },
    }) ?? {};
  };
  assert.equal(createStrictRoom().takes(uses(4), "tool"), true);
  assert.equal(createStrictRoom().takes(uses(5), "tool"), false);
});

Deno.test("an `allOf` of one reference becomes the reference, for Claude and OpenAI", () => {
  // Pydantic 1 writes this form.
  const schema = {
    type: "object",
    properties: {
      place: {
        description: "Where",
        allOf: [{ $ref: "#/definitions/Place" }],
      },
    },
    definitions: {
      Place: { type: "object", properties: { x: { type: "number" } } },
    },
  };
  const place = { description: "Where", $ref: "#/$defs/Place" };
  assert.deepEqual(normalSchema(schema).properties, { place });
  assert.deepEqual(enforceableSchema(schema)?.properties, { place });
});

Deno.test("enforceableSchema() returns undefined for an `allOf` of two references", () => {
  const part = { $ref: "#/$defs/text" };
  const schema = {
    type: "object",
    properties: { a: { allOf: [part, part] } },
    $defs: { text: TEXT },
  };
  assert.equal(enforceableSchema(schema), undefined);
});

Deno.test("the arguments of a tool for Kimi are an object, even when the schema is a choice", () => {
  const parameters = {
    anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/A" }],
    $defs: { A: { type: "object", properties: { a: TEXT } } },
  };
  const subset = schemaSubsetOf({ service: "kimi", model: "kimi-k3" });
  const fitted = fitArguments(parameters, subset, {
    reportDropped: assert.fail,
  });
  assert.deepEqual(fitted, {
    type: "object",
    properties: { a: TEXT },
    required: [],
  });
});

Deno.test("normalSchema() returns the same object for a schema without references and older keywords", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "array", items: TEXT } },
    required: ["a"],
  };
  assert.equal(objectSchema(rootObject(normalSchema(schema))), schema);
});

/** Returns a schema of `levels` levels. */
function nested(
  levels: number,
  wrap: (inner: JsonObject) => JsonObject,
): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

const HOSTILE: Readonly<Record<string, JsonObject>> = {
  "a choice in each of its parent's properties": nested(200, (inner) => ({
    type: ["object", "array"],
    properties: { a: inner },
    items: inner.items ?? {},
    anyOf: [{ minProperties: 1 }, { maxProperties: 3 }],
  })),
  "a tuple in a tuple": nested(
    200,
    (inner) => ({ type: "array", items: [inner, {}] }),
  ),
  "nested patterns of names": nested(200, (inner) => ({
    patternProperties: { "(?=a)": inner },
  })),
  "a negation of several types": nested(200, (inner) => ({
    type: ["string", "number"],
    not: inner,
  })),
  "10,000 properties": {
    properties: Object.fromEntries(
      Array.from(
        { length: 10_000 },
        (_, at) => [`p${at}`, { type: ["string", "null"] }],
      ),
    ),
  },
  "10,000 references with a description beside each": {
    properties: Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`p${at}`, {
        $ref: "#/$defs/d",
        description: `d${at}`,
      }]),
    ),
    $defs: { d: nested(50, (inner) => ({ properties: { a: inner } })) },
  },
  "a chain of 10,000 definitions": {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`d${at}`, {
        properties: { a: { $ref: `#/$defs/d${at + 1}` } },
      }]),
    ),
  },
  "definitions that each use two others": {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`d${at}`, {
        allOf: [
          { $ref: `#/$defs/d${at + 1}` },
          { $ref: `#/$defs/d${at + 1}` },
          {
            $ref: `#/$defs/d${at + 2}`,
          },
        ],
      }]),
    ),
  },
  "a cycle of references": {
    $ref: "#/$defs/a",
    description: "x",
    $defs: {
      a: { $ref: "#/$defs/b", description: "y" },
      b: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#" }] },
    },
  },
  "a reference to itself": {
    anyOf: [{ $ref: "#/anyOf/0" }, { $ref: "#/anyOf" }],
  },
  "names of Object.prototype": JSON.parse(
    `{"properties": {"__proto__": {"$ref": "#/$defs/__proto__"}, "constructor": {"$ref": "constructor"}},
      "$defs": {"__proto__": {"type": "string"}}, "__proto__": {"type": "array"}, "required": ["__proto__"]}`,
  ),
};

for (const [what, schema] of Object.entries(HOSTILE)) {
  Deno.test(`every converter survives ${what}`, () => {
    const size = JSON.stringify(schema).length;
    for (
      const [service, model] of [["openai", "gpt-5.2"], ["kimi", "k"], [
        "llamacpp",
        "m",
      ]]
    ) {
      const { body } = received("responses", `chat ${service} ${model}`, {
        tools: [{ type: "function", name: "f", parameters: schema }],
      });
      const written = JSON.stringify(body).length;
      assert.ok(
        written < 20 * size + 8_000_000,
        `${service}: ${size} → ${written}`,
      );
    }
    assert.ok(JSON.stringify(normalSchema(schema)).length < 3 * size + 1_000);
    objectSchema(schema);
    moonshotSchema(schema);
    const enforceable = enforceableSchema(rootObject(schema));
    if (enforceable !== undefined) {
      createStrictRoom().takes(enforceable, "tool");
    }
  });
}
