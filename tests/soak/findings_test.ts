import assert from "node:assert/strict";
import { createFindings } from "./findings.ts";
import { excuseOf } from "./machine.ts";

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
