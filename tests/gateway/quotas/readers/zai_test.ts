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
import { steps } from "../../../support/steps.ts";

const source = sourceOf("zai", { base: "https://api.z.ai/api/coding/paas/v4" });

const TEAM = {
  plan: "team",
  organization: "org-1",
  project: "proj_1",
} as const;

Deno.test("zai sends the bare key to the connection's own host", () => {
  assert.deepEqual(requestsOf(source), [{
    url: "https://api.z.ai/api/monitor/usage/quota/limit",
    headers: {
      accept: "application/json",
      "accept-language": "en-US,en",
      authorization: KEY,
    },
  }]);
});

Deno.test("bigmodel sends its request to a mainland host and never the global one", () => {
  const mainland = sourceOf("bigmodel", {
    base: "https://open.bigmodel.cn/api/coding/paas/v4",
  });
  assert.equal(
    requestsOf(mainland)[0]?.url,
    "https://open.bigmodel.cn/api/monitor/usage/quota/limit",
  );
});

Deno.test("zai sends its request to quota.url if it is set", () => {
  const url = "https://proxy.example/quota?team=a";
  assert.equal(requestsOf(sourceOf("zai", { quota: { url } }))[0]?.url, url);
  assert.equal(
    requestsOf(sourceOf("zai", { quota: { ...TEAM, url } }))[0]?.url,
    "https://proxy.example/quota?team=a&type=2",
  );
});

Deno.test("zai sends the organization and the project of a team plan", () => {
  const [request] = requestsOf(sourceOf("bigmodel", { quota: TEAM }));
  assert.equal(
    request?.url,
    "https://quota.example/api/monitor/usage/quota/limit?type=2",
  );
  assert.equal(request?.headers["bigmodel-organization"], "org-1");
  assert.equal(request?.headers["bigmodel-project"], "proj_1");
  assert.equal(request?.headers["authorization"], KEY);
});

Deno.test("zai reports a missing setting before any request", async (t) => {
  const missing = {
    "a team plan without an organization": { ...TEAM, organization: undefined },
    "a team plan without a project": { ...TEAM, project: undefined },
  };
  await steps(t, Object.entries(missing), ([, quota]) => {
    assertFailure(
      () => requestsOf(sourceOf("bigmodel", { quota })),
      "configuration_required",
    );
  });
  await t.step("a connection without a key", () => {
    const bare = sourceOf("zai", { auth: { scheme: "none" } });
    assertFailure(() => requestsOf(bare), "configuration_required");
  });
  await t.step("a connection without an endpoint", () => {
    const { connection, quota } = source;
    const nowhere = { connection: { ...connection, endpoints: {} }, quota };
    assertFailure(() => requestsOf(nowhere), "configuration_required");
  });
});

Deno.test("zai reads credit windows and ignores the old token meter beside them", () => {
  assertWindows(parse(source, fixture("zai/credits")), [
    "CREDIT_LIMIT five_hour credits 2000 115 1884 5.75 2026-08-22T05:43:20.135Z",
    "CREDIT_LIMIT weekly credits 10000 10010 0 100.1 2026-08-23T07:20:11.997Z",
    "TIME_LIMIT monthly requests 100 10 90 10 2026-09-26T12:33:22.997Z",
  ]);
});

Deno.test("zai keeps rows that lack fields", () => {
  assert.deepEqual(parse(source, fixture("zai/fresh")), [
    // A window that has not begun has no reset.
    windowOf("credit_limit five_hour credits 12000 0 12000 0"),
    // A week may be written as 6 × 7, and the type under another name.
    windowOf("CREDIT_LIMIT weekly credits 60000 13153 46847 21.9216666667", {
      period_count: 7,
    }),
    windowOf("CREDIT_LIMIT monthly credits 6000 4500 1500 74"),
    windowOf("VIDEO_LIMIT daily unknown 20 3 17 15"),
    // An unknown code.
    windowOf("CREDIT_LIMIT unknown credits 0 0 0 0", {
      period_unit: 1,
      period_count: 2,
    }),
  ]);
});

Deno.test("zai uses the stricter of counts and a share, except for rounding", () => {
  const read = (row: object) =>
    parse(source, {
      code: 200,
      data: {
        limits: [{ type: "CREDIT_LIMIT", unit: 3, number: 5, ...row }],
      },
    }).map((one) => one.used_percent);
  const counts = { usage: 2000, currentValue: 115, remaining: 1885 };
  assert.deepEqual(read({ ...counts, percentage: 5 }), [5.75]);
  assert.deepEqual(read({ ...counts, percentage: 6 }), [5.75]);
  assert.deepEqual(read({ ...counts, percentage: 100 }), [100]);
  assert.deepEqual(read({ ...counts, percentage: 40 }), [40]);
  assert.deepEqual(read({ ...counts, percentage: null }), [5.75]);
  const spent = { usage: 2000, currentValue: 2000, remaining: 0 };
  assert.deepEqual(read({ ...spent, percentage: 0 }), [100]);
});

Deno.test("zai reads shares if there are no counts, even above 100 %", () => {
  assertWindows(parse(source, fixture("zai/percent_only")), [
    "TOKENS_LIMIT five_hour percent 100 17 83 17 2026-06-29T09:22:51.179Z",
    "TOKENS_LIMIT weekly percent 100 104 0 104 2026-07-06T02:38:06.997Z",
  ]);
});

Deno.test("zai reads absolute tokens, and limits at the top of the answer", () => {
  assertWindows(parse(source, fixture("zai/tokens")), [
    "TOKENS_LIMIT five_hour tokens 40000000 10000000 30000000 25 2026-02-08T15:38:09.893Z",
  ]);
});

Deno.test("zai treats an answer with only tool calls as an ended plan", () => {
  assertFailure(() => parse(source, fixture("zai/tools_only")), "no_plan");
});

Deno.test("zai treats an answer without windows as no data, not as an unused plan", async (t) => {
  const answers = {
    "an empty list": { code: 200, data: { limits: [], level: "pro" } },
    "null limits": { code: 200, data: { limits: null } },
    "null data": { code: 200, data: null },
    "empty data": { code: 200, data: {} },
  };
  await steps(t, Object.entries(answers), ([, body]) => {
    assertFailure(() => parse(source, body), "unavailable");
  });
});

Deno.test("zai reads an error with status 200", async (t) => {
  const errors = [
    [401, "token expired or incorrect", "unauthorized"],
    [1000, "Authentication Failed", "unauthorized"],
    [1001, "Authorization Token Missing", "unauthorized"],
    [1004, "", "unauthorized"],
    [500, "Your account has no active coding plan", "no_plan"],
    [500, "当前用户不存在coding plan", "no_plan"],
    [500, "Parameter validation failed", "unavailable"],
    [null, "", "unavailable"],
  ] as const;
  for (const [code, msg, reason] of errors) {
    await t.step(`${code} ${msg}`, () => {
      const body = { code, msg, success: false };
      assertFailure(() => parse(source, body), reason);
    });
  }
  await t.step("a code of failure without `success`", () => {
    assertFailure(
      () => parse(source, { code: 401, msg: "no" }),
      "unauthorized",
    );
  });
});
