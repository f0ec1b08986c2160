import assert from "node:assert/strict";
import { anthropic } from "../../../../src/gateway/quotas/readers/anthropic.ts";
import {
  assertFailure,
  assertWindows,
  fixture,
  KEY,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const source = sourceOf("anthropic", { base: "https://api.anthropic.com/v1" });

Deno.test("anthropic reads the usage of an OAuth token", () => {
  const [request] = requestsOf(source);
  assert.equal(request?.url, "https://api.anthropic.com/api/oauth/usage");
  assert.equal(request?.headers["authorization"], `Bearer ${KEY}`);
  assert.equal(request?.headers["anthropic-beta"], "oauth-2025-04-20");
  assert.match(request?.headers["user-agent"] ?? "", /^claude-code\//);
});

Deno.test("anthropic sends no request for an API key unless the quota has a separate token", () => {
  const auth = { scheme: "x-api-key", key: KEY } as const;
  const appliesTo = anthropic.poll?.appliesTo;
  assert.equal(appliesTo?.(source), true);
  assert.equal(appliesTo?.(sourceOf("anthropic", { auth })), false);
  const own = sourceOf("anthropic", { auth, quota: { key: "oauth-token" } });
  assert.equal(appliesTo?.(own), true);
  assert.equal(
    requestsOf(own)[0]?.headers["authorization"],
    "Bearer oauth-token",
  );
});

Deno.test("anthropic is read at most every five minutes", () => {
  assert.equal(anthropic.poll?.paceMs, 300_000);
});

Deno.test("anthropic reads the list of limits, and flat windows that the list lacks", () => {
  assertWindows(parse(source, fixture("anthropic/limits")), [
    "USAGE_LIMIT five_hour percent 100 10 90 10 2026-08-04T16:20:00.001Z",
    "USAGE_LIMIT:big_model weekly percent 100 102 0 102 2026-08-06T19:00:00.001Z",
    "USAGE_LIMIT:weekly_new weekly percent 100 3 97 3",
    "USAGE_LIMIT weekly percent 100 29 71 29 2026-08-06T19:00:00.001Z",
  ]);
});

Deno.test("anthropic reads flat windows without a list, and extra usage without a cap", () => {
  assertWindows(parse(source, fixture("anthropic/flat")), [
    "USAGE_LIMIT weekly percent 100 61.5 38.5 61.5 2026-08-06T17:00:00.000Z",
    "USAGE_LIMIT:opus weekly percent 100 4 96 4",
    "SPEND_LIMIT:extra_usage monthly USD - 12.5 - -",
  ]);
});

Deno.test("anthropic reads extra usage under its other name, in major units", () => {
  assertWindows(parse(source, fixture("anthropic/spend")), [
    "USAGE_LIMIT five_hour percent 100 0 100 0",
    "SPEND_LIMIT:extra_usage monthly EUR 40 10.05 29.95 25.125",
  ]);
});

Deno.test("anthropic does not guess the minor units of an unknown currency", () => {
  const [window] = parse(source, {
    limits: null,
    extra_usage: { is_enabled: true, monthly_limit: 4000, used_credits: 1 },
  });
  assert.deepEqual(
    window,
    windowOf("SPEND_LIMIT:extra_usage monthly currency - - - -"),
  );
});

Deno.test("anthropic shows an idle account as unused", () => {
  assert.deepEqual(parse(source, fixture("anthropic/idle")), []);
});

Deno.test("anthropic rejects an answer without known windows", () => {
  const body = { nimbus_quill: { utilization: 0.02, resets_at: null } };
  assertFailure(() => parse(source, body), "invalid_response");
});

Deno.test("anthropic headers of an OAuth token are fractions and may exceed one", () => {
  const headers = new Headers({
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": "1786685679",
    "anthropic-ratelimit-unified-5h-status": "rejected",
    "anthropic-ratelimit-unified-5h-utilization": "1.02",
    "anthropic-ratelimit-unified-5h-reset": "1786685679",
    "anthropic-ratelimit-unified-7d-utilization": "0.29",
    "anthropic-ratelimit-unified-7d_oi-utilization": "0.07",
    "anthropic-ratelimit-unified-7d_oi-reset": "soon",
    "anthropic-ratelimit-unified-7d_constructor-utilization": "none",
  });
  assertWindows(anthropic.headers?.parse(headers, 0), [
    "USAGE_LIMIT five_hour percent 100 102 0 102 2026-08-14T05:34:39.000Z",
    "USAGE_LIMIT weekly percent 100 29 71 29",
    "USAGE_LIMIT:overage_included weekly percent 100 7 93 7",
  ]);
});

Deno.test("anthropic headers of an API key are counts per minute", () => {
  const headers = new Headers({
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2026-08-04T16:20:00Z",
    "anthropic-ratelimit-tokens-limit": "80000",
    "anthropic-ratelimit-tokens-remaining": "76000",
    "anthropic-ratelimit-input-tokens-limit": "60000",
    "anthropic-ratelimit-output-tokens-remaining": "16000",
  });
  assertWindows(anthropic.headers?.parse(headers, 0), [
    "REQUESTS_LIMIT minute requests 50 1 49 2 2026-08-04T16:20:00.000Z",
    "TOKENS_LIMIT minute tokens 80000 4000 76000 5",
    "TOKENS_LIMIT:input minute tokens 60000 - - -",
    "TOKENS_LIMIT:output minute tokens - - 16000 -",
  ]);
});

Deno.test("anthropic uses the stricter of a listed and a flat window", () => {
  const read = (flat: number | null, listed: number | null) =>
    parse(source, {
      five_hour: { utilization: flat },
      limits: [{ kind: "session", group: "session", percent: listed }],
    }).map((one) => one.used_percent);
  assert.deepEqual(read(100, 0), [100]);
  assert.deepEqual(read(3, 100), [100]);
  assert.deepEqual(read(100, null), [100]);
  assert.deepEqual(read(null, 7), [7]);
});
