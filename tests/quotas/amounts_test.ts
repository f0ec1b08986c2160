import assert from "node:assert/strict";
import {
  amounts,
  complement,
  fractionAmounts,
  percentAmounts,
  tidy,
} from "../../src/quotas/amounts.ts";

Deno.test("amounts() adds what arithmetic gives", () => {
  assert.deepEqual(amounts({ limit: 200, used: 50 }), {
    limit: 200,
    used: 50,
    remaining: 150,
    usedPercent: 25,
  });
  assert.deepEqual(amounts({ limit: 200, remaining: 50 }), {
    limit: 200,
    used: 150,
    remaining: 50,
    usedPercent: 75,
  });
});

Deno.test("amounts() keeps the reported values, however they add up", () => {
  const given = { limit: 2000, used: 115, remaining: 1884, usedPercent: 5 };
  assert.deepEqual(amounts(given), given);
});

Deno.test("amounts() guesses nothing", () => {
  const nothing = {
    limit: null,
    used: null,
    remaining: null,
    usedPercent: null,
  };
  assert.deepEqual(amounts({}), nothing);
  assert.deepEqual(amounts({ used: 5 }), { ...nothing, used: 5 });
  assert.deepEqual(amounts({ remaining: 5 }), { ...nothing, remaining: 5 });
  assert.deepEqual(amounts({ limit: 5 }), { ...nothing, limit: 5 });
});

Deno.test("amounts() shows overuse and computes nothing below zero", () => {
  assert.deepEqual(amounts({ limit: 100, used: 130 }), {
    limit: 100,
    used: 130,
    remaining: 0,
    usedPercent: 130,
  });
  // More left than there is: what was used is unknown, not negative.
  assert.equal(amounts({ limit: 100, remaining: 130 }).used, null);
  assert.equal(amounts({ limit: 100, remaining: -30 }).used, 130);
});

Deno.test("amounts() recognizes no share of nothing", () => {
  assert.equal(amounts({ limit: 0, used: 0 }).usedPercent, null);
  assert.equal(amounts({ limit: 1e-300, used: 1e18 }).usedPercent, null);
});

Deno.test("amounts() computes without the noise of binary fractions", () => {
  assert.equal(amounts({ limit: 0.3, used: 0.1 }).remaining, 0.2);
  assert.equal(tidy(0.1 + 0.2), 0.3);
});

Deno.test("percentAmounts() and fractionAmounts() have their whole by definition", () => {
  assert.deepEqual(percentAmounts(104), {
    limit: 100,
    used: 104,
    remaining: 0,
    usedPercent: 104,
  });
  assert.deepEqual(fractionAmounts(0.29), {
    limit: 1,
    used: 0.29,
    remaining: 0.71,
    usedPercent: 29,
  });
  const unknown = { used: null, remaining: null, usedPercent: null };
  assert.deepEqual(percentAmounts(null), { limit: 100, ...unknown });
  assert.deepEqual(fractionAmounts(undefined), { limit: 1, ...unknown });
});

Deno.test("complement() turns a share that is left into one that is used", () => {
  assert.equal(complement(96, 100), 4);
  assert.equal(complement(0.25, 1), 0.75);
  assert.equal(complement(-5, 100), 105);
  assert.equal(complement(101, 100), null);
  assert.equal(complement(null, 100), null);
  assert.equal(complement(undefined, 100), null);
});
