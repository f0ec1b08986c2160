import assert from "node:assert/strict";
import {
  costNanos,
  countsOf,
  tokensOf,
} from "../../../src/gateway/usage/counts.ts";

const PRICE = {
  input: 3,
  cachedInput: 0.3,
  cacheWrite: 3.75,
  cacheWrite1h: 6,
  rates: [],
  output: 15,
};

Deno.test("costNanos() prices cached and written tokens separately", () => {
  const usage = {
    inputTokens: 1000,
    cachedInputTokens: 600,
    cacheWriteTokens: 300,
    outputTokens: 50,
    reasoningTokens: 40,
  };
  const expected = 100 * 3000 + 600 * 300 + 300 * 3750 + 50 * 15_000;
  assert.equal(costNanos(usage, PRICE, 0), expected);
});

Deno.test("costNanos() prices tokens that are cached for an hour separately", () => {
  const usage = {
    inputTokens: 1000,
    cacheWriteTokens: 900,
    cacheWrite1hTokens: 500,
    outputTokens: 0,
  };
  const expected = 100 * 3000 + 400 * 3750 + 500 * 6000;
  assert.equal(costNanos(usage, PRICE, 0), expected);
});

/** A condition of a rate that every answer meets. */
const ALWAYS = {
  inputOver: undefined,
  speed: undefined,
  serviceTier: undefined,
  inferenceGeo: undefined,
  refusal: undefined,
  hours: undefined,
};

/** Returns a rate with another input price under a condition. */
function rated(input: number, when: object) {
  return { when: { ...ALWAYS, ...when }, prices: { ...PRICE, input } };
}

Deno.test("costNanos() uses the first rate whose condition the answer meets", () => {
  const price = {
    ...PRICE,
    rates: [
      rated(30, { inputOver: 1000, speed: "fast" }),
      rated(20, { speed: "fast" }),
      rated(10, { inputOver: 1000 }),
      rated(1, { serviceTier: "batch" }),
      rated(2, { inferenceGeo: "us" }),
      rated(0, { refusal: "cyber" }),
    ],
  };
  const cases = [
    [{ inputTokens: 1000 }, 3],
    [{ inputTokens: 1001 }, 10],
    [{ inputTokens: 1001, speed: "fast" }, 30],
    [{ inputTokens: 1000, speed: "fast", serviceTier: "batch" }, 20],
    [{ inputTokens: 1000, serviceTier: "batch" }, 1],
    [{ inputTokens: 1000, inferenceGeo: "us" }, 2],
    [{ inputTokens: 1000, inferenceGeo: "eu" }, 3],
    [{ inputTokens: 1000, refusal: "cyber" }, 0],
    [{ inputTokens: 1000, refusal: "bio" }, 3],
    [{ inputTokens: 1000, serviceTier: "priority" }, 3],
  ] as const;
  for (const [usage, dollars] of cases) {
    const cost = costNanos({ ...usage, outputTokens: 0 }, price, 0);
    assert.equal(cost, usage.inputTokens * dollars * 1000);
  }
});

Deno.test("costNanos() never subtracts more tokens than the input has", () => {
  const usage = {
    inputTokens: 10,
    cachedInputTokens: 30,
    cacheWriteTokens: 30,
    outputTokens: 0,
  };
  assert.equal(costNanos(usage, PRICE, 0), 10 * 300);
});

Deno.test("countsOf() returns whole numbers for any reported values", () => {
  const counts = countsOf({
    inputTokens: 1.4,
    outputTokens: 1e300,
    reasoningTokens: 0.5,
  }, { price: PRICE, startedMs: 0, isEstimated: true });
  for (const amount of Object.values(counts)) {
    assert.ok(Number.isSafeInteger(amount), String(amount));
  }
  assert.equal(counts.estimated, 1);
  assert.equal(tokensOf(counts), 1 + 1_000_000_000);
});

Deno.test("countsOf() returns no cost without a price, and a cost of 0 for a free model", () => {
  const usage = { inputTokens: 5, outputTokens: 5 };
  const none = { input: 0, output: 0, cachedInput: 0 };
  const free = { ...none, cacheWrite: 0, cacheWrite1h: 0, rates: [] };
  const cost = (price: typeof free | undefined) =>
    countsOf(usage, { price, startedMs: 0, isEstimated: false }).cost;
  assert.equal(cost(undefined), undefined);
  assert.equal(cost(free), 0);
});

Deno.test("costNanos() prices a request by the hour of its start, in the rate's time zone and past midnight", () => {
  const usage = { inputTokens: 1, outputTokens: 0 };
  const inputAt = (time: string, from: number, to: number) => {
    const place = { from: from * 60, to: to * 60, timeZone: "Asia/Shanghai" };
    const price = { ...PRICE, rates: [rated(1, { hours: place })] };
    return costNanos(usage, price, Date.parse(`2026-11-26T${time}Z`)) / 1000;
  };
  // Shanghai is eight hours ahead of UTC.
  assert.equal(inputAt("00:59:59", 9, 18), 3);
  assert.equal(inputAt("01:00:00", 9, 18), 1);
  assert.equal(inputAt("09:59:59", 9, 18), 1);
  assert.equal(inputAt("10:00:00", 9, 18), 3);
  assert.equal(inputAt("16:30:00", 22, 6), 1);
  assert.equal(inputAt("22:00:00", 22, 6), 3);
  assert.equal(inputAt("15:59:00", 0, 24), 1);
});
