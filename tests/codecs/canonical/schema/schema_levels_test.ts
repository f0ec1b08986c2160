import assert from "node:assert/strict";
import {
  type JsonObject,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { moonshotSchema } from "../../../../src/codecs/canonical/schema/moonshot_schema.ts";
import { normalSchema } from "../../../../src/codecs/canonical/schema/normal_schema.ts";
import { rootObject } from "../../../../src/codecs/canonical/schema/root_object.ts";
import { limitLevels } from "../../../../src/codecs/canonical/schema/schema_levels.ts";
import { received } from "../../../support/dialects/upstream_request.ts";
import { createRandom } from "../../../support/fakes/random.ts";
import { judgeOf } from "../../../support/schemas/judge.ts";
import {
  DRAFTS,
  randomInstance,
  randomSchema,
} from "../../../support/schemas/random_schema.ts";
import {
  moonshotLevels,
  moonshotSchemaFault,
} from "../../../support/upstream/moonshot_rules.ts";

/** Returns an object with `levels` levels of properties. */
function nested(levels: number, innermost: JsonObject = {}): JsonObject {
  if (levels === 0) return { type: "string", ...innermost };
  const a = nested(levels - 1, innermost);
  return { type: "object", properties: { a }, required: ["a"] };
}

/** Returns the schema of a tool's arguments that Kimi gets. */
function atKimi(parameters: JsonObject, isStrict = false) {
  const tool = { type: "function", name: "f", strict: false, parameters };
  const tools = { tools: [tool] };
  const sent = received("responses", "chat kimi kimi-k2.6", tools, isStrict);
  const [first] = objectsOf(sent.body.tools);
  const schema = objectOf(first?.function).parameters;
  return { schema, dropped: sent.dropped };
}

Deno.test("Kimi gets ten levels of a schema; the eleventh moves into the description and is named", () => {
  const ten = nested(10);
  assert.deepEqual(atKimi(ten), { schema: ten, dropped: [] });
  const { schema, dropped } = atKimi(nested(11));
  assert.deepEqual(dropped, ["properties"]);
  const last = {
    type: "object",
    description:
      'Must match {"properties":{"a":{"type":"string"}},"required":["a"]}',
  };
  const expected = JSON.parse(
    JSON.stringify(nested(10, { type: "last" }))
      .replace('{"type":"last"}', JSON.stringify(last)),
  );
  assert.deepEqual(schema, expected);
});

Deno.test("lists, choices and maps add no level", () => {
  const list = { type: "array", items: nested(9) };
  const map = { type: "object", additionalProperties: list };
  const root = {
    type: "object",
    properties: { a: { anyOf: [map, { type: "null" }] } },
  };
  assert.deepEqual(atKimi(root), { schema: root, dropped: [] });
});

Deno.test("a reference has the levels of its definition", () => {
  const b = { $ref: "#/$defs/b" };
  const schema = {
    type: "object",
    properties: { near: b, far: wrapped(3, b) },
    $defs: { b: nested(8) },
  };
  assert.match(`${moonshotSchemaFault(schema)}`, /depth/);
  const limited = limitLevels(schema, 10);
  assert.equal(moonshotSchemaFault(limited), undefined);
  assert.deepEqual(limited, {
    type: "object",
    properties: { near: b, far: wrapped(3, { $ref: "#/$defs/b_6" }) },
    $defs: { b: nested(8), b_6: limitLevels(nested(8), 6) },
  });
});

function wrapped(levels: number, inner: JsonObject): JsonObject {
  return levels === 0 ? inner : {
    type: "object",
    properties: { a: wrapped(levels - 1, inner) },
  };
}

Deno.test("a recursion that fits is kept, and a deeper one ends in a description", () => {
  const node = (own: number): JsonObject => ({
    type: "object",
    properties: {
      next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
      own: nested(own),
    },
  });
  const schema = (own: number): JsonObject => ({
    type: "object",
    properties: { list: { $ref: "#/$defs/node" } },
    $defs: { node: node(own) },
  });
  assert.deepEqual(atKimi(schema(3)), { schema: schema(3), dropped: [] });
  const long = limitLevels(schema(9), 10);
  assert.equal(moonshotSchemaFault(long), undefined);
  assert.doesNotMatch(JSON.stringify(long), /"#\/\$defs\/node"/);
  assert.match(JSON.stringify(long), /Must match/);
});

Deno.test("a copy of a definition with fewer levels gets an unused name", () => {
  const schema = {
    type: "object",
    properties: {
      a: wrapped(4, { $ref: "#/$defs/b" }),
      c: { $ref: "#/$defs/b_5" },
    },
    $defs: { b: nested(9), b_5: { type: "string" } },
  };
  const limited = limitLevels(schema, 10);
  assert.deepEqual(Object.keys(Object(limited.$defs)), ["b_5_", "b_5"]);
});

Deno.test("properties with reserved names move into the description for Kimi", () => {
  const { schema, dropped } = atKimi({
    type: "object",
    properties: {
      fields: {
        type: "array",
        items: {
          type: "object",
          properties: {
            name: { type: "string" },
            required: { type: "boolean" },
          },
          required: ["name", "required"],
          additionalProperties: false,
        },
      },
    },
  });
  assert.deepEqual(dropped, ["properties"]);
  assert.deepEqual(schema, {
    type: "object",
    properties: {
      fields: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" } },
          required: ["name"],
          description: 'Further properties: required: {"type":"boolean"}',
        },
      },
    },
  });
});

/** Any value, in Moonshot's subset. */
const ANYTHING = {
  anyOf: ["string", "number", "boolean", "object", "array", "null"]
    .map((type) => ({ type })),
};

Deno.test("an object for Kimi has each required property among its properties", () => {
  const { schema, dropped } = atKimi({
    type: "object",
    properties: {
      a: {
        type: "object",
        required: ["b"],
        additionalProperties: { type: "string" },
      },
      list: { type: "array", items: false },
      whole: { type: "integer", enum: [1, 1.5] },
    },
  });
  assert.deepEqual(dropped, []);
  assert.deepEqual(schema, {
    type: "object",
    properties: {
      a: {
        type: "object",
        required: ["b"],
        properties: { b: { type: "string" } },
        additionalProperties: { type: "string" },
      },
      list: { type: "array", maxItems: 0, items: ANYTHING },
      whole: { type: "integer", enum: [1] },
    },
  });
});

Deno.test("a strict connection refuses a schema that is too deep", () => {
  assert.throws(() => atKimi(nested(11), true), /properties.*10 levels/);
  assert.deepEqual(atKimi(nested(10), true).dropped, []);
});

Deno.test("limitLevels() limits 150 random schemas, and each still accepts the same values", () => {
  const seen = { changed: 0, kept: 0, allowed: 0 };
  for (let seed = 0; seed < 150; seed++) {
    const random = createRandom(seed);
    const draft = DRAFTS[seed % DRAFTS.length] ?? "7";
    const given = moonshotSchema(
      rootObject(normalSchema(randomSchema(random, draft))),
    );
    // Fewer levels than Kimi's limit, because few random schemas have more than ten.
    const fitted = limitLevels(given, 3);
    if (fitted === given) seen.kept++;
    else seen.changed++;
    assert.equal(fitted !== given, moonshotLevels(given) > 3, `seed ${seed}`);
    assert.ok(moonshotLevels(fitted) <= 3, `seed ${seed}`);
    if (fitted === given) continue;
    const [before, after] = [judgeOf(given, "2020"), judgeOf(fitted, "2020")];
    for (let round = 0; round < 50; round++) {
      const value = randomInstance(random);
      if (!before(value)) continue;
      seen.allowed++;
      assert.ok(after(value), `seed ${seed}: ${JSON.stringify(value)}`);
    }
  }
  assert.ok(
    seen.changed > 20 && seen.kept > 20 && seen.allowed > 100,
    JSON.stringify(seen),
  );
});
