import assert from "node:assert/strict";
import { divide, secondsOf, shortnessOf } from "./plan.ts";
import { createFindings } from "./findings.ts";
import { excuseOf } from "./machine.ts";

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

Deno.test("a run that is too short has a tenth of the counts and exceeds its time", () => {
  const budget = divide(1, PARTS);
  assert.equal(budget.effort, 0.1);
  assert.ok(budget.trafficSeconds > 1);
});

Deno.test("mixed traffic gets all the time of a run without other parts", () => {
  assert.deepEqual(divide(60, []), { effort: 1, trafficSeconds: 60 });
});

Deno.test("a short run does not judge memory", () => {
  assert.equal(shortnessOf({ effort: 1 }), undefined);
  assert.match(shortnessOf({ effort: 0.1 }) ?? "", /too short/);
});

Deno.test("a figure over its bound is a fault on a quiet machine and inconclusive on a busy one", () => {
  const findings = createFindings();
  findings.exceed("It took 300 ms");
  findings.judge(undefined);
  assert.deepEqual(findings.faults, ["It took 300 ms"]);
  findings.exceed("It took 400 ms");
  findings.judge("others were busy");
  assert.deepEqual(findings.faults, ["It took 300 ms"]);
  assert.deepEqual(findings.inconclusive, [
    "It took 400 ms (others were busy)",
  ]);
});

Deno.test("a wrong answer is a fault on a busy machine, too", () => {
  const findings = createFindings();
  findings.fail("An answer is wrong");
  findings.judge("others were busy");
  assert.deepEqual(findings.faults, ["An answer is wrong"]);
  assert.deepEqual(findings.inconclusive, []);
});

Deno.test("a figure that a short run cannot judge is inconclusive on a quiet machine, too", () => {
  const findings = createFindings();
  findings.exceed("It grows", "too short");
  findings.judge(undefined);
  assert.deepEqual(findings.faults, []);
  assert.deepEqual(findings.inconclusive, ["It grows (too short)"]);
});

Deno.test("a machine is too busy when other programs use the processors or a thread wakes late", () => {
  assert.equal(excuseOf({ othersShare: 0.1, lateMs: 20 }), undefined);
  assert.equal(excuseOf({ othersShare: NaN, lateMs: 20 }), undefined);
  assert.match(excuseOf({ othersShare: 0.6, lateMs: 20 }) ?? "", /60%/);
  assert.match(excuseOf({ othersShare: NaN, lateMs: 400 }) ?? "", /400 ms/);
});
