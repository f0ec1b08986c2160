import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  KEY,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

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

Deno.test("openrouter trusts what remains, since usage is the key's whole life", () => {
  assert.deepEqual(parse(source, fixture("openrouter/capped")), [
    windowOf("SPEND_LIMIT monthly USD 50 37.75 12.25 75.5"),
  ]);
});

Deno.test("openrouter shows what an uncapped key has used in all", () => {
  assert.deepEqual(parse(source, fixture("openrouter/uncapped")), [
    windowOf("SPEND_LIMIT total USD - 3.5 - -"),
  ]);
});

Deno.test("openrouter names the period of a limit", async (t) => {
  const periods = {
    daily: "daily",
    weekly: "weekly",
    fortnightly: "unknown",
  };
  for (const [limit_reset, expected] of Object.entries(periods)) {
    await t.step(limit_reset, () => {
      const data = { limit: 1, limit_remaining: 1, limit_reset, usage: 0 };
      assert.equal(parse(source, { data })[0]?.window, expected);
    });
  }
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
  assert.deepEqual(
    windows[1],
    windowOf("BALANCE total USD - - -4.75 -"),
  );
});

Deno.test("openrouter rejects an error under HTTP 200", () => {
  const body = { error: { code: 401, message: "No auth" } };
  assertFailure(() => parse(source, body), "invalid_response");
});
