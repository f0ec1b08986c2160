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

Deno.test("deepseek reads a balance for each currency", () => {
  const source = sourceOf("deepseek", { base: "https://api.deepseek.com" });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.deepseek.com/user/balance",
  );
  assertWindows(parse(source, fixture("deepseek/two_currencies")), [
    "BALANCE total CNY - - 110 -",
    "BALANCE total USD - - -0.25 -",
  ]);
});

Deno.test("deepseek treats an account without balances as no data", () => {
  const body = { is_available: false, balance_infos: [] };
  assertFailure(() => parse(sourceOf("deepseek"), body), "unavailable");
});

Deno.test("moonshot reads the available balance, in the currency of its region", async (t) => {
  const currencies = {
    "https://api.moonshot.ai/v1": "USD",
    "https://api.moonshot.cn/v1": "CNY",
    "https://proxy.example/v1": "currency",
  };
  await steps(t, Object.entries(currencies), ([base, unit]) => {
    const source = sourceOf("moonshot", { base });
    assert.equal(requestsOf(source)[0]?.url, `${base}/users/me/balance`);
    assert.deepEqual(parse(source, fixture("moonshot/balance")), [
      windowOf(`BALANCE total ${unit} - - 49.58894 -`),
    ]);
  });
});

Deno.test("moonshot reads an error with status 200", async (t) => {
  const data = { available_balance: 1 };
  const errors = {
    "a code": { code: 5, data },
    "a status": { code: 0, status: false, data },
  };
  await steps(t, Object.entries(errors), ([, body]) => {
    assertFailure(() => parse(sourceOf("moonshot"), body), "unavailable");
  });
});

const base = "https://openrouter.ai/api/v1";
const source = sourceOf("openrouter", { base });

Deno.test("openrouter reads the limit of the connection's own key", () => {
  assert.deepEqual(requestsOf(source), [{
    url: "https://openrouter.ai/api/v1/key",
    headers: { accept: "application/json", authorization: `Bearer ${KEY}` },
  }]);
});

Deno.test("openrouter reads the credits with a management key only", () => {
  const requests = requestsOf(sourceOf("openrouter", {
    base,
    quota: { key: "management" },
  }));
  assert.deepEqual(
    requests.map(({ url, headers }) => [url, headers["authorization"]]),
    [
      ["https://openrouter.ai/api/v1/key", `Bearer ${KEY}`],
      ["https://openrouter.ai/api/v1/credits", "Bearer management"],
    ],
  );
});

Deno.test("openrouter uses the remaining amount, because the reported usage exceeds the limit's period", () => {
  assertWindows(parse(source, fixture("openrouter/capped")), [
    "SPEND_LIMIT monthly USD 50 37.75 12.25 75.5",
  ]);
});

Deno.test("openrouter shows the total usage of an uncapped key", () => {
  assertWindows(parse(source, fixture("openrouter/uncapped")), [
    "SPEND_LIMIT total USD - 3.5 - -",
  ]);
});

Deno.test("openrouter names the period of a limit", async (t) => {
  const periods = { daily: "daily", weekly: "weekly", fortnightly: "unknown" };
  await steps(t, Object.entries(periods), ([limit_reset, expected]) => {
    const data = { limit: 1, limit_remaining: 1, limit_reset, usage: 0 };
    assert.equal(parse(source, { data })[0]?.window, expected);
  });
  await t.step("none", () => {
    const data = { limit: 1, limit_remaining: 1, limit_reset: null, usage: 0 };
    assert.equal(parse(source, { data })[0]?.window, "total");
  });
});

Deno.test("openrouter credits may fall below zero", () => {
  const windows = parse(
    source,
    fixture("openrouter/uncapped"),
    fixture("openrouter/credits"),
  );
  assert.deepEqual(windows[1], windowOf("BALANCE total USD - - -4.75 -"));
});

Deno.test("openrouter rejects an error under HTTP 200", () => {
  const body = { error: { code: 401, message: "No auth" } };
  assertFailure(() => parse(source, body), "invalid_response");
});

Deno.test("siliconflow reads its total balance, in the currency of its region", () => {
  const source = sourceOf("siliconflow", {
    base: "https://api.siliconflow.com/v1",
  });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.siliconflow.com/v1/user/info",
  );
  assertWindows(parse(source, fixture("siliconflow/info")), [
    "BALANCE total USD - - 88.88 -",
  ]);
});

Deno.test("siliconflow reads an error with status 200", () => {
  const source = sourceOf("siliconflow");
  const retired = { code: 20092, message: "gone", status: false, data: null };
  assertFailure(() => parse(source, retired), "unavailable");
});
