import assert from "node:assert/strict";
import { nameParts } from "../../src/http/wording/words.js";
import { limitsModels, QUOTA_TYPES } from "../../src/quotas/window.ts";

Deno.test("each type of quota has a word of its own for people", () => {
  const words = Object.values(QUOTA_TYPES).map((type) =>
    nameParts({
      type,
      window: "unknown",
      unit: "unknown",
      period_unit: null,
      period_count: null,
      limit: null,
      used: null,
      remaining: null,
      used_percent: null,
      resets_at: null,
    })[0]
  );
  assert.deepEqual(words, [
    "quota",
    "credits",
    "tokens",
    "requests",
    "money",
    "balance",
    "tool calls",
  ]);
});

Deno.test("limitsModels() is false for calls of a plan's tools alone", () => {
  const others = Object.values(QUOTA_TYPES)
    .filter((type) => !limitsModels({ type }));
  assert.deepEqual(others, [QUOTA_TYPES.toolCalls]);
  assert.ok(limitsModels({ type: "A_PROVIDERS_OWN" }));
});
