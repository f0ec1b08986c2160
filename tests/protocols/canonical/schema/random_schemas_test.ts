import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/core/json.ts";
import { normalSchema } from "../../../../src/protocols/canonical/schema/normal_schema.ts";
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

Deno.test("300 random schemas of all drafts are valid in draft 2020-12 afterwards, and judge 50 values each as before", () => {
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

Deno.test("a schema that was converted once stays as it is", () => {
  for (const { seed, schema } of schemas(SCHEMAS)) {
    const normal: JsonObject = JSON.parse(JSON.stringify(normalSchema(schema)));
    assert.deepEqual(normalSchema(normal), normal, `seed ${seed}`);
  }
});
