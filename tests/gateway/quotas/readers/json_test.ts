import assert from "node:assert/strict";
import { valueAt } from "../../../../src/gateway/quotas/readers/json.ts";
import type { QuotaSource } from "../../../../src/gateway/quotas/readers/reader.ts";
import {
  connectionFile,
  minimalConfig,
  UPSTREAM_KEY,
} from "../../../support/gateway/config.ts";
import {
  assertFailure,
  assertWindows,
  fixture,
  parse,
  requestsOf,
  sourceOf,
} from "../quota_case.ts";
import { steps } from "../../../support/steps.ts";

const URL_TEXT = "https://quota.example/usage";

const SESSION = {
  type: "USAGE_LIMIT",
  period: "5h",
  unit: "percent",
  at: "/data/quotas",
  where: { level: "session" },
  share: { at: "/percent", of: "used_percent" },
  resets_at: { at: "/reset", format: "epoch_seconds" },
};

/** Returns the connection of a configuration. */
async function described(
  quota: Readonly<Record<string, unknown>>,
  connection: Readonly<Record<string, unknown>> = {},
): Promise<QuotaSource> {
  const config = await minimalConfig({
    connections: [connectionFile({
      quota: { kind: "json", url: URL_TEXT, windows: [SESSION], ...quota },
      ...connection,
    })],
  });
  const [found] = config.connections;
  assert.ok(found?.quota);
  return { connection: found, quota: found.quota };
}

async function headersOf(
  quota: Readonly<Record<string, unknown>>,
  connection?: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, string>> | undefined> {
  return requestsOf(await described(quota, connection))[0]?.headers;
}

Deno.test("json sends the credential like the connection unless the quota has its own", async (t) => {
  await t.step("bearer", async () => {
    const source = await described({});
    assert.equal(requestsOf(source)[0]?.url, URL_TEXT);
    assert.equal(
      requestsOf(source)[0]?.headers["authorization"],
      `Bearer ${UPSTREAM_KEY}`,
    );
  });
  await t.step("x-api-key", async () => {
    const auth = { scheme: "x-api-key", key: "k" };
    const headers = await headersOf({}, { auth });
    assert.equal(headers?.["x-api-key"], "k");
    assert.equal(headers?.["authorization"], undefined);
  });
  await t.step("api-key", async () => {
    const auth = { scheme: "api-key", key: "k" };
    const headers = await headersOf({}, { auth });
    assert.equal(headers?.["api-key"], "k");
    assert.equal(headers?.["authorization"], undefined);
  });
  await t.step("none", async () => {
    const auth = { scheme: "none" };
    assert.deepEqual(await headersOf({}, { auth }), {
      accept: "application/json",
    });
  });
  await t.step("its own key", async () => {
    const headers = await headersOf({ key: "own" });
    assert.equal(headers?.["authorization"], "Bearer own");
  });
  await t.step("its own headers", async () => {
    const own = { Authorization: "token t", "x-account": "1" };
    const headers = await headersOf({ headers: own });
    assert.equal(headers?.["authorization"], "token t");
    assert.equal(headers?.["x-account"], "1");
  });
});

Deno.test("json finds an item of an array by its fields, and keeps percents below 1", async () => {
  const weekly = { ...SESSION, period: "7d", where: { level: "weekly" } };
  const source = await described({ windows: [weekly, SESSION] });
  assertWindows(parse(source, fixture("json/credits")), [
    "USAGE_LIMIT weekly percent 100 3.5 96.5 3.5",
    "USAGE_LIMIT five_hour percent 100 0.116 99.884 0.116 2026-06-23T14:54:38.000Z",
  ]);
});

Deno.test("json scales amounts and converts remaining shares into used ones", async () => {
  const source = await described({
    windows: [{
      type: "SPEND_LIMIT",
      period: "1mo",
      unit: "USD",
      at: "/data/money",
      limit: "/limit_cents",
      used: "/used_cents",
      scale: 0.01,
    }, {
      type: "CREDIT_LIMIT",
      unit: "fraction",
      at: "/data/pool",
      share: { at: "/left", of: "remaining_fraction" },
      resets_at: { at: "/until", format: "iso" },
    }, {
      type: "CREDIT_LIMIT",
      period: "total",
      unit: "credits",
      share: { at: "/data/pool/left", of: "used_fraction" },
    }, {
      type: "USAGE_LIMIT",
      unit: "percent",
      share: { at: "/data/quotas/1/percent", of: "remaining_percent" },
    }],
  });
  assertWindows(parse(source, fixture("json/credits")), [
    "SPEND_LIMIT monthly USD 50 12.5 37.5 25",
    "CREDIT_LIMIT unknown fraction 1 0.25 0.75 25 2026-07-01T00:00:00.000Z",
    "CREDIT_LIMIT total credits - - - 75",
    "USAGE_LIMIT unknown percent 100 96.5 3.5 96.5",
  ]);
});

Deno.test("json reads each format of a reset", async (t) => {
  const cases = {
    iso: ["2026-01-01T01:00:00Z", "2026-01-01T01:00:00.000Z"],
    epoch_seconds: ["1767229200", "2026-01-01T01:00:00.000Z"],
    epoch_ms: [1767229200500, "2026-01-01T01:00:00.500Z"],
    seconds_left: [3600, "2026-01-01T01:00:00.000Z"],
    ms_left: [1500, "2026-01-01T00:00:01.500Z"],
  } as const;
  await steps(t, Object.entries(cases), async ([format, [value, expected]]) => {
    const resets_at = { at: "/reset", format };
    const window = { type: "T", unit: "tokens", used: "/used", resets_at };
    const source = await described({ windows: [window] });
    const read = (reset: unknown) =>
      parse(source, { used: 1, reset })[0]?.resets_at;
    assert.equal(read(value), expected);
    assert.equal(read(undefined), null);
    assert.equal(read(null), null);
  });
});

Deno.test("json leaves out values that the answer lacks", async (t) => {
  const source = await described({});
  const answers = {
    "an array without the item": { data: { quotas: [] } },
    "no array at all": { data: { quotas: { level: "session", percent: 1 } } },
    "an item without a number": { data: { quotas: [{ level: "session" }] } },
    "null": null,
    "a text": "session",
  };
  await steps(t, Object.entries(answers), ([, body]) => {
    assertFailure(() => parse(source, body), "invalid_response");
  });
});

Deno.test("json rejects a value that is not a number", async () => {
  const source = await described({});
  const body = { data: { quotas: [{ level: "session", percent: "much" }] } };
  assertFailure(() => parse(source, body), "invalid_response");
});

Deno.test("json reads a described error with status 200", async () => {
  const source = await described({
    success: { at: "/code", in: [0, null] },
    unauthorized: { at: "/code", in: [401, "ConsoleNeedLogin"] },
  });
  const body = fixture("json/credits");
  assert.equal(parse(source, body).length, 1);
  assertFailure(() => parse(source, { code: 401 }), "unauthorized");
  assertFailure(
    () => parse(source, { code: "ConsoleNeedLogin" }),
    "unauthorized",
  );
  assertFailure(() => parse(source, { code: 500 }), "unavailable");
  assertFailure(() => parse(source, {}), "unavailable");
});

Deno.test("json reports missing settings", () => {
  assertFailure(() => requestsOf(sourceOf("json")), "configuration_required");
  const quota = { url: URL_TEXT };
  assertFailure(
    () => requestsOf(sourceOf("json", { quota })),
    "configuration_required",
  );
});

const DOCUMENT = { a: [{ "x/y": 1, "m~n": null }], "": { "": 2 }, "0": 3 };

Deno.test("valueAt() returns the value of a JSON pointer", () => {
  assert.equal(valueAt(DOCUMENT, ""), DOCUMENT);
  assert.equal(valueAt(DOCUMENT, "/a/0/x~1y"), 1);
  assert.equal(valueAt(DOCUMENT, "/a/0/m~0n"), null);
  assert.equal(valueAt(DOCUMENT, "//"), 2);
  assert.equal(valueAt(DOCUMENT, "/0"), 3);
});

Deno.test("valueAt() finds only the document's own members", () => {
  for (
    const pointer of [
      "/b",
      "/a/1",
      "/a/-",
      "/a/0/m~0n/deeper",
      "/constructor",
      "/__proto__",
      "/a/0/toString",
    ]
  ) {
    assert.equal(valueAt(DOCUMENT, pointer), undefined, pointer);
  }
  assert.equal(valueAt("text", "/length"), undefined);
});
