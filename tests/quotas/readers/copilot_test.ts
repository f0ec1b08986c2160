import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const source = sourceOf("copilot", { quota: { key: "gho_token" } });

Deno.test("copilot sends GitHub the token of the quota, never the connection's key", () => {
  const [request] = requestsOf(source);
  assert.equal(request?.url, "https://api.github.com/copilot_internal/user");
  assert.equal(request?.headers["authorization"], "token gho_token");
  assertFailure(
    () => requestsOf(sourceOf("copilot")),
    "configuration_required",
  );
});

Deno.test("copilot sends its request to the quota's host", () => {
  const url = "https://api.tenant.ghe.com/copilot_internal/user";
  assert.equal(
    requestsOf(sourceOf("copilot", { quota: { url } }))[0]?.url,
    url,
  );
});

Deno.test("copilot reads credits with decimals and leaves out unlimited ones", () => {
  assert.deepEqual(parse(source, fixture("copilot/credits")), [
    windowOf(
      "CREDIT_LIMIT:premium_interactions monthly credits 7000 1750.5 5249.5 25.0071428571 2026-10-01T00:00:00.000Z",
    ),
  ]);
});

Deno.test("copilot counts overage above the allowance, and zeros as no meter", () => {
  assert.deepEqual(parse(source, fixture("copilot/overage")), [
    windowOf(
      "REQUESTS_LIMIT:premium_interactions monthly requests 300 330 0 110 2026-10-01T00:00:00.000Z",
    ),
    windowOf(
      "REQUESTS_LIMIT:chat monthly percent 100 60 40 60 2026-10-01T00:00:00.000Z",
    ),
  ]);
});

Deno.test("copilot reads what remains of the free plan's older form", () => {
  assert.deepEqual(parse(source, fixture("copilot/free")), [
    windowOf(
      "REQUESTS_LIMIT:chat monthly requests 500 375 125 75 2026-02-01T00:00:00.000Z",
    ),
    windowOf(
      "REQUESTS_LIMIT:completions monthly requests 300 225 75 75 2026-02-01T00:00:00.000Z",
    ),
  ]);
});

Deno.test("copilot recognizes an account without Copilot", () => {
  assertFailure(() => parse(source, { login: "someone" }), "no_plan");
});
