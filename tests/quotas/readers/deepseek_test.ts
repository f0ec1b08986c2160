import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

Deno.test("deepseek reads a balance for each currency", () => {
  const source = sourceOf("deepseek", { base: "https://api.deepseek.com" });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.deepseek.com/user/balance",
  );
  assert.deepEqual(parse(source, fixture("deepseek/two_currencies")), [
    windowOf("BALANCE total CNY - - 110 -"),
    windowOf("BALANCE total USD - - -0.25 -"),
  ]);
});

Deno.test("deepseek treats an account without balances as no data", () => {
  const body = { is_available: false, balance_infos: [] };
  assertFailure(() => parse(sourceOf("deepseek"), body), "unavailable");
});
