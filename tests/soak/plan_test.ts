import assert from "node:assert/strict";
import { divide, secondsOf, shortnessOf } from "./plan.ts";

const PARTS = [{ fixed: 5, scaled: 40 }, { fixed: 15, scaled: 60 }];

Deno.test("a long run has the full counts and gives mixed traffic the rest", () => {
  assert.deepEqual(divide(600, PARTS), { effort: 1, trafficSeconds: 480 });
});

Deno.test("a short run shortens every part and still uses its whole time", () => {
  const budget = divide(80, PARTS);
  assert.equal(budget.effort, 0.4);
  const others = PARTS.reduce((sum, one) => sum + secondsOf(one, budget), 0);
  assert.equal(others + budget.trafficSeconds, 80);
});

Deno.test("a run that is too short has a tenth of the counts, and takes longer than its limit", () => {
  const budget = divide(1, PARTS);
  assert.equal(budget.effort, 0.1);
  assert.ok(budget.trafficSeconds > 1);
});

Deno.test("mixed traffic alone has all the time", () => {
  assert.deepEqual(divide(60, []), { effort: 1, trafficSeconds: 60 });
});

Deno.test("only a run that is long enough judges memory", () => {
  assert.equal(shortnessOf({ effort: 1 }), undefined);
  assert.match(shortnessOf({ effort: 0.1 }) ?? "", /too short/);
});
