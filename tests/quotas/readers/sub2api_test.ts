import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const base = "https://proxy.example/team/v1";

Deno.test("sub2api sends its request to the root of the gateway", () => {
  assert.equal(
    requestsOf(sourceOf("sub2api", { base }))[0]?.url,
    "https://proxy.example/team/v1/usage?days=30&timezone=UTC",
  );
});

Deno.test("sub2api reads a quota and its windows", () => {
  assert.deepEqual(parse(sourceOf("sub2api"), fixture("sub2api/limited")), [
    windowOf("SPEND_LIMIT total USD 100 25 75 25"),
    windowOf(
      "SPEND_LIMIT five_hour USD 20 21.5 0 107.5 2026-07-11T12:30:00.000Z",
    ),
    windowOf("SPEND_LIMIT daily USD 40 5 35 12.5"),
  ]);
});

Deno.test("sub2api reads a subscription, where a limit of 0 is none", () => {
  assert.deepEqual(
    parse(sourceOf("sub2api"), fixture("sub2api/subscription")),
    [
      windowOf("SPEND_LIMIT daily USD 10 2 8 20"),
      windowOf("SPEND_LIMIT monthly USD 100 30 70 30"),
      windowOf("BALANCE total USD - - 4.5 -"),
    ],
  );
});

Deno.test("sub2api finds a refused key under HTTP 200", () => {
  const body = { isValid: false, quota: { limit: 1 } };
  assertFailure(() => parse(sourceOf("sub2api"), body), "unauthorized");
});

Deno.test("sub2api treats an answer without windows as no data", () => {
  const body = { isValid: true, unit: "points" };
  assertFailure(() => parse(sourceOf("sub2api"), body), "unavailable");
});
