import assert from "node:assert/strict";
import { codex } from "../../../../src/gateway/quotas/readers/codex.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import {
  assertFailure,
  assertWindows,
  fixture,
  parse,
  requestsOf,
  sourceOf,
} from "../quota_case.ts";

const source = sourceOf("codex", {
  base: "https://chatgpt.com/backend-api/codex",
});

/** Returns a JWT with these claims and an arbitrary signature. */
function tokenOf(claims: unknown): string {
  const part = (value: unknown) =>
    btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_")
      .replace(/=+$/, "");
  return `${part({ alg: "none" })}.${part(claims)}.sig`;
}

function accountHeaderOf(key: string): string | undefined {
  const auth = { scheme: "bearer", key } as const;
  return requestsOf(sourceOf("codex", { auth }))[0]
    ?.headers["chatgpt-account-id"];
}

Deno.test("codex sends the official client's request", () => {
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://chatgpt.com/backend-api/wham/usage",
  );
  assert.equal(
    requestsOf(sourceOf("codex", { base: "https://proxy.example/v1" }))[0]?.url,
    "https://proxy.example/v1/api/codex/usage",
  );
});

Deno.test("codex sends the account id that the token names", async (t) => {
  await t.step("from the claim", () => {
    const claims = {
      "https://api.openai.com/auth": { chatgpt_account_id: "acc-1?>~" },
    };
    assert.equal(accountHeaderOf(tokenOf(claims)), undefined);
    const good = {
      "https://api.openai.com/auth": { chatgpt_account_id: "acc-1" },
    };
    assert.equal(accountHeaderOf(tokenOf(good)), "acc-1");
  });
  await t.step("none for an opaque token", () => {
    for (const key of ["opaque", "a.b.c", "a.%%%.c", tokenOf([]), tokenOf(1)]) {
      assert.equal(accountHeaderOf(key), undefined);
    }
  });
});

Deno.test("codex names windows by their length, not by their slot", () => {
  assertWindows(parse(source, fixture("codex/free")), [
    "USAGE_LIMIT weekly percent 100 40 60 40 2026-02-25T09:02:33.000Z",
  ]);
});

Deno.test("codex reads every meter, and credits written as text", () => {
  assertWindows(parse(source, fixture("codex/team")), [
    "USAGE_LIMIT five_hour percent 100 7 93 7 2026-02-18T13:56:15.000Z",
    "USAGE_LIMIT weekly percent 100 2.5 97.5 2.5 2026-01-07T20:27:09.000Z",
    "USAGE_LIMIT:code_review weekly percent 100 0 100 0 2026-02-25T12:35:25.000Z",
    "USAGE_LIMIT:gpt-5_spark five_hour percent 100 110 0 110 2026-02-18T13:56:15.000Z",
    "BALANCE total credits - - 12.5 -",
  ]);
});

Deno.test("codex reads a company's cap for one member", () => {
  assertWindows(parse(source, fixture("codex/business")), [
    "SPEND_LIMIT unknown credits 5000 1250 3750 25 2026-08-01T00:00:00.000Z",
  ]);
});

Deno.test("codex treats an answer without windows as no data", () => {
  assertFailure(() => parse(source, { rate_limit: null }), "unavailable");
});

Deno.test("codex headers have the same windows as the usage endpoint", () => {
  const headers = new Headers({
    "x-codex-primary-used-percent": "7",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": "1771422975",
    "x-codex-secondary-used-percent": "2.5",
    "x-codex-secondary-window-minutes": "10080",
    "x-codex-secondary-reset-at": "",
    "x-codex-secondary-reset-after-seconds": "592029",
    "x-codex-bengal-fox-primary-used-percent": "110",
    "x-codex-bengal-fox-primary-window-minutes": "43800",
    "x-codex-bengal-fox-limit-name": "GPT-5 Spark",
    "x-codex-other-secondary-used-percent": "1",
    "x-codex-credits-unlimited": "False",
    "x-codex-credits-balance": "12.50",
  });
  const seen = codex.headers?.parse(headers, NOW_MS) ?? [];
  const byType = (a: { type: string }, b: { type: string }) =>
    a.type < b.type ? -1 : a.type > b.type ? 1 : 0;
  assertWindows(seen.toSorted(byType), [
    "BALANCE total credits - - 12.5 -",
    "USAGE_LIMIT five_hour percent 100 7 93 7 2026-02-18T13:56:15.000Z",
    "USAGE_LIMIT weekly percent 100 2.5 97.5 2.5 2026-01-07T20:27:09.000Z",
    "USAGE_LIMIT:gpt-5_spark monthly percent 100 110 0 110",
    "USAGE_LIMIT:other unknown percent 100 1 99 1",
  ]);
});

Deno.test("codex headers with unlimited credits have no balance", () => {
  const headers = new Headers({
    "x-codex-credits-unlimited": "True",
    "x-codex-credits-balance": "0",
  });
  assert.deepEqual(codex.headers?.parse(headers, NOW_MS), []);
});
