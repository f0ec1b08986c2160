import assert from "node:assert/strict";
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
import { litellm } from "../../../../src/gateway/quotas/readers/litellm.ts";

const ENTRY = windowOf(
  "CREDIT_LIMIT five_hour credits 2000 2100 0 105 2026-01-01T03:00:00.000Z",
);

Deno.test("gateway returns the windows of the only connection behind it", () => {
  const source = sourceOf("gateway", { base: "https://other.example/api/v1" });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://other.example/api/v1/limits",
  );
  assert.deepEqual(parse(source, fixture("gateway/one")), [ENTRY]);
});

Deno.test("gateway names the connections behind it if there are several", () => {
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

const base = "https://proxy.example/team/v1";

Deno.test("litellm reads its key, then the key's owners", () => {
  const source = sourceOf("litellm", { base });
  const headers = {
    accept: "application/json",
    authorization: `Bearer ${KEY}`,
  };
  assert.deepEqual(requestsOf(source), [{
    url: "https://proxy.example/team/key/info",
    headers,
  }]);
  assert.deepEqual(
    litellm.poll?.followUps?.([fixture("litellm/key")], source),
    [
      {
        url: "https://proxy.example/team/user/info?user_id=user-1",
        headers,
        optional: true,
      },
      {
        url: "https://proxy.example/team/team/info?team_id=team-2",
        headers,
        optional: true,
      },
    ],
  );
  assert.deepEqual(
    litellm.poll?.followUps?.([fixture("litellm/key_bare")], source),
    [],
  );
});

Deno.test("litellm reads the windows of a key without a main budget", () => {
  assert.deepEqual(parse(sourceOf("litellm"), fixture("litellm/key")), [
    windowOf(
      "SPEND_LIMIT three_hour USD 30 0.5 29.5 1.66666666667 2026-09-26T16:00:00.000Z",
    ),
    // Its spending is not reported.
    windowOf("SPEND_LIMIT twelve_hour USD 70 - - -"),
  ]);
});

Deno.test("litellm reads a main budget outside of `info`, even if it is overspent", () => {
  assertWindows(parse(sourceOf("litellm"), fixture("litellm/key_bare")), [
    "SPEND_LIMIT monthly USD 10 12 0 120 2026-10-01T00:00:00.000Z",
  ]);
});

Deno.test("litellm shows the spending of an uncapped key", () => {
  const info = { spend: 3, max_budget: null };
  assertWindows(parse(sourceOf("litellm"), { info }), [
    "SPEND_LIMIT total USD - 3 - -",
  ]);
});

Deno.test("litellm adds the budgets of the user and of the key's own team", () => {
  const user = windowOf(
    "SPEND_LIMIT:user total USD 300 212.5 87.5 70.8333333333",
  );
  const team = (window: string, code: number, resets: string) =>
    windowOf(
      `SPEND_LIMIT:team ${window} USD 1000 215.25 784.75 21.525 ${resets}`,
      { period_unit: code, period_count: 1 },
    );
  const key = fixture("litellm/key");
  const fromUser = parse(sourceOf("litellm"), key, fixture("litellm/user"));
  assert.deepEqual(fromUser.slice(2), [
    user,
    team("weekly", 6, "2026-06-15T00:00:00.000Z"),
  ]);
  const fromTeam = parse(
    sourceOf("litellm"),
    key,
    undefined,
    fixture("litellm/team"),
  );
  assert.deepEqual(fromTeam.slice(2), [
    team("monthly", 5, "2026-07-01T00:00:00.000Z"),
  ]);
});

Deno.test("litellm reports a budget once if two answers have it", () => {
  const windows = parse(
    sourceOf("litellm"),
    fixture("litellm/key"),
    fixture("litellm/user"),
    fixture("litellm/team"),
  );
  assert.deepEqual(
    windows.map(({ type, window }) => `${type} ${window}`),
    [
      "SPEND_LIMIT three_hour",
      "SPEND_LIMIT twelve_hour",
      "SPEND_LIMIT:user total",
      "SPEND_LIMIT:team monthly",
    ],
  );
});

Deno.test("new-api reads its key with the credential, and its unit of money without one", () => {
  assert.deepEqual(requestsOf(sourceOf("new-api", { base })), [
    {
      url: "https://proxy.example/team/api/usage/token",
      headers: { accept: "application/json", authorization: `Bearer ${KEY}` },
    },
    {
      url: "https://proxy.example/team/api/status",
      headers: { accept: "application/json" },
      optional: true,
    },
  ]);
});

Deno.test("new-api converts its units to dollars when it reports their rate", () => {
  const source = sourceOf("new-api");
  const token = fixture("new_api/token");
  assertWindows(parse(source, token, fixture("new_api/status")), [
    "SPEND_LIMIT total USD 10 2.5 7.5 25",
  ]);
  const inUnits = [
    windowOf("SPEND_LIMIT total quota 5000000 1250000 3750000 25"),
  ];
  assert.deepEqual(parse(source, token, undefined), inUnits);
  const countsTokens = {
    data: { quota_per_unit: 1, quota_display_type: "TOKENS" },
  };
  assert.deepEqual(parse(source, token, countsTokens), inUnits);
  const nonsense = { data: { quota_per_unit: 0 } };
  assert.deepEqual(parse(source, token, nonsense), inUnits);
});

Deno.test("new-api shows the usage of an unlimited key", () => {
  const windows = parse(
    sourceOf("new-api"),
    fixture("new_api/unlimited"),
    fixture("new_api/status"),
  );
  assertWindows(windows, ["SPEND_LIMIT total USD - 1.5 - -"]);
});

Deno.test("new-api reads an error with status 200", () => {
  const body = { success: false, message: "no such token" };
  assertFailure(() => parse(sourceOf("new-api"), body), "unavailable");
});

Deno.test("sub2api sends its request to the root of the gateway", () => {
  assert.equal(
    requestsOf(sourceOf("sub2api", { base }))[0]?.url,
    "https://proxy.example/team/v1/usage?days=30&timezone=UTC",
  );
});

Deno.test("sub2api reads a quota and its windows", () => {
  assertWindows(parse(sourceOf("sub2api"), fixture("sub2api/limited")), [
    "SPEND_LIMIT total USD 100 25 75 25",
    "SPEND_LIMIT five_hour USD 20 21.5 0 107.5 2026-07-11T12:30:00.000Z",
    "SPEND_LIMIT daily USD 40 5 35 12.5",
  ]);
});

Deno.test("sub2api reads a subscription, with a limit of 0 as no limit", () => {
  assertWindows(parse(sourceOf("sub2api"), fixture("sub2api/subscription")), [
    "SPEND_LIMIT daily USD 10 2 8 20",
    "SPEND_LIMIT monthly USD 100 30 70 30",
    "BALANCE total USD - - 4.5 -",
  ]);
});

Deno.test("sub2api reads a refused key with status 200", () => {
  const body = { isValid: false, quota: { limit: 1 } };
  assertFailure(() => parse(sourceOf("sub2api"), body), "unauthorized");
});

Deno.test("sub2api reads a used-up quota without numbers", () => {
  const body = { isValid: true, status: "quota_exhausted", quota: {} };
  assertWindows(parse(sourceOf("sub2api"), body), [
    "SPEND_LIMIT total currency - - - 100",
  ]);
  for (const quota of [null, undefined]) {
    assertFailure(
      () => parse(sourceOf("sub2api"), { ...body, quota }),
      "unavailable",
    );
  }
});

Deno.test("sub2api rejects values of an unknown form", () => {
  const bodies = [
    { quota: 7 },
    { quota: { limit: "much" } },
    { rate_limits: [{ window: "5h", used: true }] },
    { subscription: { daily_limit_usd: "much" } },
    { balance: {} },
  ];
  for (const body of bodies) {
    assertFailure(() => parse(sourceOf("sub2api"), body), "invalid_response");
  }
});

Deno.test("sub2api treats an answer without windows as no data", () => {
  const body = { isValid: true, unit: "points" };
  assertFailure(() => parse(sourceOf("sub2api"), body), "unavailable");
});
