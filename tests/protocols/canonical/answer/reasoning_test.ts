import assert from "node:assert/strict";
import {
  budgetOfEffort,
  effortOfBudget,
  isEffort,
  MIN_BUDGET_TOKENS,
} from "../../../../src/protocols/canonical/answer/reasoning.ts";

Deno.test("budgetOfEffort() returns a share of the output limit, and at least the upstreams' minimum", () => {
  assert.equal(budgetOfEffort("low", 32_000), 3200);
  assert.equal(budgetOfEffort("high", 32_000), 19_200);
  assert.equal(budgetOfEffort("max", 32_000), 28_800);
  assert.equal(budgetOfEffort("minimal", 100), MIN_BUDGET_TOKENS);
});

Deno.test("effortOfBudget() grows with the budget", () => {
  assert.deepEqual([1024, 4096, 10_000, 31_999, 64_000].map(effortOfBudget), [
    "low",
    "low",
    "medium",
    "high",
    "xhigh",
  ]);
});

Deno.test("isEffort() accepts only the effort words", () => {
  assert.equal(isEffort("xhigh"), true);
  for (const word of ["none", "ultra", "toString", 7, null]) {
    assert.equal(isEffort(word), false);
  }
});
