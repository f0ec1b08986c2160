import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const source = sourceOf("minimax", { base: "https://api.minimax.io/v1" });

Deno.test("minimax sends requests to the connection's host's region", () => {
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.minimax.io/v1/token_plan/remains",
  );
});

Deno.test("minimax turns percent remaining round, and computes each length", () => {
  assert.deepEqual(parse(source, fixture("minimax/percent")), [
    // Four hours between its start and its end, whatever others have.
    windowOf(
      "USAGE_LIMIT four_hour percent 100 0 100 0 2026-06-21T16:00:00.000Z",
    ),
    // Exhausted (status 2) is shown; a boost changes the whole, not the share.
    windowOf(
      "USAGE_LIMIT weekly percent 100 100 0 100 2026-06-21T16:00:00.000Z",
    ),
  ]);
});

Deno.test("minimax lets the percent decide whether a count was used or remains", () => {
  assert.deepEqual(parse(source, fixture("minimax/counts")), [
    windowOf(
      "USAGE_LIMIT:minimax-m2 four_hour requests 1000 100 900 10 2026-06-01T06:00:00.000Z",
    ),
    windowOf(
      "USAGE_LIMIT:minimax-m2 weekly requests 100 40 60 40 2026-01-01T00:01:00.000Z",
    ),
    // Without a percent the count is what remains, as on most hosts.
    windowOf("USAGE_LIMIT:minimax-m3 unknown requests 300 180 120 60"),
    // A count that contradicts the percent has no meaning.
    windowOf("USAGE_LIMIT:minimax-m3 weekly percent 100 50 50 50"),
  ]);
});

Deno.test("minimax reads an error with status 200", async (t) => {
  const reasons = {
    1002: "rate_limited",
    1004: "unauthorized",
    2049: "unauthorized",
    2062: "no_plan",
    1008: "no_plan",
    1000: "unavailable",
  } as const;
  for (const [code, reason] of Object.entries(reasons)) {
    await t.step(`${code} is ${reason}`, () => {
      const body = { base_resp: { status_code: Number(code) } };
      assertFailure(() => parse(source, body), reason);
    });
  }
});

Deno.test("minimax treats an answer without meters as no data", () => {
  const body = { base_resp: { status_code: 0 }, model_remains: null };
  assertFailure(() => parse(source, body), "unavailable");
});
