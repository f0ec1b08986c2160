import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

Deno.test("moonshot reads the available balance, in the currency of its region", async (t) => {
  const currencies = {
    "https://api.moonshot.ai/v1": "USD",
    "https://api.moonshot.cn/v1": "CNY",
    "https://proxy.example/v1": "currency",
  };
  for (const [base, unit] of Object.entries(currencies)) {
    await t.step(base, () => {
      const source = sourceOf("moonshot", { base });
      assert.equal(requestsOf(source)[0]?.url, `${base}/users/me/balance`);
      assert.deepEqual(parse(source, fixture("moonshot/balance")), [
        windowOf(`BALANCE total ${unit} - - 49.58894 -`),
      ]);
    });
  }
});

Deno.test("moonshot reads an error with status 200", async (t) => {
  const data = { available_balance: 1 };
  const errors = {
    "a code": { code: 5, data },
    "a status": { code: 0, status: false, data },
  };
  for (const [name, body] of Object.entries(errors)) {
    await t.step(name, () => {
      assertFailure(() => parse(sourceOf("moonshot"), body), "unavailable");
    });
  }
});
