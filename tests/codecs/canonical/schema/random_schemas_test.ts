import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { normalSchema } from "../../../../src/codecs/canonical/schema/normal_schema.ts";
import { enforceableSchema } from "../../../../src/codecs/canonical/schema/enforceable_schema.ts";
import { rootObject } from "../../../../src/codecs/canonical/schema/root_object.ts";
import { fitArguments } from "../../../../src/codecs/canonical/schema/schema_subset.ts";
import { schemaSubsetOf } from "../../../../src/codecs/dialects/schema_subsets.ts";
import { ORACLES } from "../../../clients/tool_oracles.ts";
import { createRandom } from "../../../support/fakes/random.ts";
import { judgeOf } from "../../../support/schemas/judge.ts";
import {
  DRAFTS,
  randomInstance,
  randomSchema,
} from "../../../support/schemas/random_schema.ts";

const SCHEMAS = 300;
const INSTANCES = 50;

/** Returns `count` schemas, of one draft after another. */
function schemas(count: number) {
  return Array.from({ length: count }, (_, seed) => {
    const draft = DRAFTS[seed % DRAFTS.length] ?? "7";
    return { seed, draft, schema: randomSchema(createRandom(seed), draft) };
  });
}

Deno.test("normalSchema() converts 300 random schemas of all drafts, and each accepts the same 50 values as before", () => {
  const verdicts = { true: 0, false: 0 };
  for (const { seed, draft, schema } of schemas(SCHEMAS)) {
    const text = JSON.stringify(schema);
    const before = judgeOf(schema, draft);
    const normal = normalSchema(schema);
    assert.equal(JSON.stringify(schema), text, "the given schema changed");
    const after = judgeOf(normal, "2020");
    const random = createRandom(1_000 + seed);
    for (let round = 0; round < INSTANCES; round++) {
      const value = randomInstance(random);
      const verdict = before(value);
      verdicts[`${verdict}`]++;
      assert.equal(
        after(value),
        verdict,
        `seed ${seed}: ${JSON.stringify({ value, schema, normal })}`,
      );
    }
  }
  assert.ok(
    verdicts.true > 1_000 && verdicts.false > 1_000,
    JSON.stringify(verdicts),
  );
});

/** Returns what a host refuses in a tool. Another step renames properties. */
function faultOf(
  host: string,
  schema: JsonObject,
  strict: boolean,
): string | undefined {
  const fault = ORACLES[host]?.({ name: "tool", schema, strict });
  return fault?.startsWith("Property keys") ? undefined : fault;
}

/** A service, one of its models, and the host of {@linkcode ORACLES} with its rules. */
const HOSTS = [
  ["anthropic", "claude-opus-5-5", "claude"],
  ["openai", "gpt-5.5", "openai"],
  ["gemini", "gemini-3-pro", "gemini"],
  ["moonshot", "kimi-k3", "kimi"],
  ["kimi", "kimi-for-coding", "kimi"],
  ["llamacpp", "qwen3-32b", "llamacpp"],
  ["lmstudio", "qwen3-32b", "llamacpp"],
  ["ollama", "qwen3-32b", "llamacpp"],
] as const;

Deno.test("every host accepts 300 random schemas of all drafts as arguments of tools", () => {
  for (const { seed, schema } of schemas(SCHEMAS)) {
    for (const [service, model, host] of HOSTS) {
      const subset = schemaSubsetOf({ service, model });
      const fitted = fitArguments(schema, subset, { reportDropped() {} });
      const fault = faultOf(host, fitted, false);
      assert.equal(fault, undefined, `seed ${seed}: ${service}`);
    }
  }
});

Deno.test("Claude accepts every strict tool that enforceableSchema() makes of random schemas", () => {
  const strict = schemas(SCHEMAS)
    .map(({ schema }) => enforceableSchema(rootObject(schema)))
    .filter((schema) => schema !== undefined);
  assert.ok(strict.length > 20, `${strict.length} are strict`);
  for (const schema of strict) {
    const fault = faultOf("claude", schema, true);
    assert.equal(fault, undefined, JSON.stringify(schema));
  }
});

Deno.test("normalSchema() does not change its own output", () => {
  for (const { seed, schema } of schemas(SCHEMAS)) {
    const normal: JsonObject = JSON.parse(JSON.stringify(normalSchema(schema)));
    assert.deepEqual(normalSchema(normal), normal, `seed ${seed}`);
  }
});
