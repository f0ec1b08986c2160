import assert from "node:assert/strict";
import { kimi } from "../../../src/quotas/readers/kimi.ts";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const source = sourceOf("kimi", { base: "https://api.kimi.com/coding/v1" });

Deno.test("kimi sends its request to the coding host, which answers 404 to a key without a plan", () => {
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.kimi.com/coding/v1/usages",
  );
  assert.equal(kimi.poll?.noPlanStatus, 404);
});

Deno.test("kimi reads counts written as text and completes them", () => {
  assert.deepEqual(parse(source, fixture("kimi/counts")), [
    windowOf(
      "USAGE_LIMIT five_hour requests 200 19 181 9.5 2026-01-06T15:05:24.374Z",
    ),
    windowOf("USAGE_LIMIT unknown requests 10 4 6 40 2026-01-01T00:01:30.000Z"),
    windowOf(
      "USAGE_LIMIT weekly requests 2048 375 1673 18.310546875 2026-01-09T15:23:13.373Z",
    ),
  ]);
});

Deno.test("kimi treats a limit of 100 as percent", () => {
  assert.deepEqual(parse(source, fixture("kimi/percent_like")), [
    windowOf("USAGE_LIMIT five_hour percent 100 22 78 22"),
    windowOf(
      "USAGE_LIMIT weekly percent 100 45 55 45 2026-04-16T15:36:21.718Z",
    ),
  ]);
});

Deno.test("kimi reads fractions, and prefers them to the counts beside them", () => {
  assert.deepEqual(parse(source, fixture("kimi/ratios")), [
    windowOf(
      "USAGE_LIMIT five_hour fraction 1 0.4689 0.5311 46.89 2026-07-02T11:56:36.876Z",
    ),
    windowOf(
      "USAGE_LIMIT weekly fraction 1 0.0946 0.9054 9.46 2026-07-09T06:56:36.000Z",
    ),
    windowOf("USAGE_LIMIT monthly fraction 1 1.02 0 102"),
    windowOf("USAGE_LIMIT:code monthly fraction 1 0.2854 0.7146 28.54"),
    windowOf("USAGE_LIMIT:something_else unknown fraction 1 0.5 0.5 50"),
  ]);
});

Deno.test("kimi treats an answer without windows as no data", () => {
  assertFailure(() => parse(source, { usages: {} }), "unavailable");
});
