import assert from "node:assert/strict";
import {
  laterUsage,
  type Usage,
} from "../../../../src/protocols/canonical/answer/answer.ts";

const COUNTED: Usage = {
  inputTokens: 10,
  cachedInputTokens: 4,
  outputTokens: 7,
  reasoningTokens: 3,
  others: [{ model: "m", usage: { inputTokens: 1, outputTokens: 2 } }],
};

Deno.test("laterUsage() replaces no count by zero", () => {
  const zeros: Usage = {
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
  };
  assert.deepEqual(laterUsage(COUNTED, zeros), {
    ...COUNTED,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    speed: undefined,
    serviceTier: undefined,
    inferenceGeo: undefined,
  });
  assert.equal(laterUsage(COUNTED, undefined), COUNTED);
  assert.equal(laterUsage(undefined, zeros), zeros);
});

Deno.test("laterUsage() replaces each number by a later count", () => {
  const later: Usage = { inputTokens: 11, outputTokens: 9, others: [] };
  assert.deepEqual(laterUsage(COUNTED, later), {
    inputTokens: 11,
    cachedInputTokens: 4,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    speed: undefined,
    serviceTier: undefined,
    inferenceGeo: undefined,
    outputTokens: 9,
    reasoningTokens: 3,
    others: [],
  });
});
