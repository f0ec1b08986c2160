import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const source = sourceOf("synthetic", {
  base: "https://api.synthetic.new/openai/v1",
});

Deno.test("synthetic sends requests to the connection's host", () => {
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.synthetic.new/v2/quotas",
  );
});

Deno.test("synthetic reads dollars with their sign, and ignores ticks", () => {
  assert.deepEqual(parse(source, fixture("synthetic/quotas")), [
    windowOf("REQUESTS_LIMIT five_hour requests 750 150 600 20"),
    windowOf("SPEND_LIMIT weekly USD 1036 20.2 1015.8 1.95"),
    windowOf(
      "REQUESTS_LIMIT:search hourly requests 250 2 248 0.8 2026-04-17T04:30:01.494Z",
    ),
    windowOf(
      "REQUESTS_LIMIT:subscription unknown requests 135 140.5 0 104.074074074 2026-04-17T06:00:00.000Z",
    ),
  ]);
});

Deno.test("synthetic treats an answer without meters as no data", () => {
  assertFailure(() => parse(source, { plan: "Starter" }), "unavailable");
});
