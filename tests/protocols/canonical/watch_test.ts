import assert from "node:assert/strict";
import { laterUsage } from "../../../src/protocols/canonical/watch.ts";

Deno.test("laterUsage() is the later one where there was none", () => {
  const later = { inputTokens: 1, outputTokens: 2, reasoningTokens: 1 };
  assert.deepEqual(laterUsage(undefined, later), later);
});

Deno.test("laterUsage() keeps the larger of two counts, whichever comes first", () => {
  const start = { inputTokens: 10, outputTokens: 1, cacheWriteTokens: 3 };
  const end = { inputTokens: 0, outputTokens: 25, cachedInputTokens: 7 };
  const both = {
    inputTokens: 10,
    cachedInputTokens: 7,
    cacheWriteTokens: 3,
    outputTokens: 25,
    reasoningTokens: undefined,
  };
  assert.deepEqual(laterUsage(start, end), both);
  assert.deepEqual(laterUsage(end, start), both);
});

Deno.test("laterUsage() tells a count of 0 from none", () => {
  const { cachedInputTokens, reasoningTokens } = laterUsage(
    { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
    { inputTokens: 1, outputTokens: 1 },
  );
  assert.equal(cachedInputTokens, 0);
  assert.equal(reasoningTokens, undefined);
});
