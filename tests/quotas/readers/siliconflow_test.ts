import assert from "node:assert/strict";
import {
  assertFailure,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

Deno.test("siliconflow reads its total balance, in the currency of its region", () => {
  const source = sourceOf("siliconflow", {
    base: "https://api.siliconflow.com/v1",
  });
  assert.equal(
    requestsOf(source)[0]?.url,
    "https://api.siliconflow.com/v1/user/info",
  );
  assert.deepEqual(parse(source, fixture("siliconflow/info")), [
    windowOf("BALANCE total USD - - 88.88 -"),
  ]);
});

Deno.test("siliconflow reads an error with status 200", () => {
  const source = sourceOf("siliconflow");
  const retired = { code: 20092, message: "gone", status: false, data: null };
  assertFailure(() => parse(source, retired), "unavailable");
});
