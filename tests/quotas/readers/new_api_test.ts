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

const base = "https://proxy.example/team/v1";

Deno.test("new-api reads its key, and the unit without a credential", () => {
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
  assert.deepEqual(parse(source, token, fixture("new_api/status")), [
    windowOf("SPEND_LIMIT total USD 10 2.5 7.5 25"),
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

Deno.test("new-api shows what an unlimited key has used", () => {
  const windows = parse(
    sourceOf("new-api"),
    fixture("new_api/unlimited"),
    fixture("new_api/status"),
  );
  assert.deepEqual(windows, [
    windowOf("SPEND_LIMIT total USD - 1.5 - -"),
  ]);
});

Deno.test("new-api reads an error with status 200", () => {
  const body = { success: false, message: "no such token" };
  assertFailure(() => parse(sourceOf("new-api"), body), "unavailable");
});
