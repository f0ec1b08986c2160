import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const ENTRY = windowOf(
  "CREDIT_LIMIT five_hour credits 2000 2100 0 105 2026-01-01T03:00:00.000Z",
);

Deno.test("gateway passes the windows of the one connection behind it on", () => {
  const source = sourceOf("gateway", { base: "https://other.example/api/v1" });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://other.example/api/v1/limits",
  );
  assert.deepEqual(parse(source, fixture("gateway/one")), [ENTRY]);
});

Deno.test("gateway names the connections behind it where there are several", () => {
  assert.deepEqual(parse(sourceOf("gateway"), fixture("gateway/several")), [
    { ...ENTRY, type: "CREDIT_LIMIT:glm_team" },
    windowOf("USAGE_LIMIT:opus:mine five_hour percent - - - -", {
      period_unit: null,
      period_count: null,
    }),
  ]);
});

Deno.test("gateway without a readable connection has no quota", () => {
  const body = { object: "list", data: [] };
  assertFailure(() => parse(sourceOf("gateway"), body), "unavailable");
});
