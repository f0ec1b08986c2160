import assert from "node:assert/strict";
import { Paragraphs } from "../../../../src/protocols/canonical/answer/readable.ts";
import {
  budgetOfEffort,
  effortOfBudget,
  isEffort,
  MIN_BUDGET_TOKENS,
} from "../../../../src/protocols/canonical/answer/reasoning.ts";
import {
  laterUsage,
  settleStop,
  type StopReason,
  type Usage,
} from "../../../../src/protocols/canonical/answer/answer.ts";

Deno.test("Paragraphs join texts that follow each other", () => {
  const paragraphs = new Paragraphs();
  assert.equal(paragraphs.join("one"), "one");
  assert.equal(paragraphs.join(" two"), " two");
});

Deno.test("Paragraphs separate texts that are apart, once", () => {
  const paragraphs = new Paragraphs();
  paragraphs.join("one");
  paragraphs.part();
  paragraphs.part();
  assert.equal(paragraphs.join("two"), "\n\ntwo");
  assert.equal(paragraphs.join(" more"), " more");
});

Deno.test("Paragraphs put nothing before the first text", () => {
  const paragraphs = new Paragraphs();
  paragraphs.part();
  assert.equal(paragraphs.join("one"), "one");
});

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

function settled(reason: StopReason, hasToolCalls: boolean): StopReason {
  return settleStop({ reason }, { hasCalls: hasToolCalls }).reason;
}

Deno.test("settleStop() prefers calls over a plain end, but not over a limit or a filter", () => {
  assert.equal(settled("end", true), "tool_calls");
  assert.equal(settled("other", true), "tool_calls");
  assert.equal(settled("max_tokens", true), "max_tokens");
  assert.equal(settled("filtered", true), "filtered");
  assert.equal(settled("stop_sequence", true), "stop_sequence");
});

Deno.test("settleStop() changes `tool_calls` without a call to an end", () => {
  assert.equal(settled("tool_calls", false), "end");
  assert.equal(settled("max_tokens", false), "max_tokens");
});

Deno.test("settleStop() keeps the upstream's own word", () => {
  const raw = { protocol: "chat", value: "stop" } as const;
  assert.deepEqual(settleStop({ reason: "end", raw }, { hasCalls: true }), {
    reason: "tool_calls",
    raw,
  });
});

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
