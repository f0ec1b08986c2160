/** A reader returns sound windows or a typed failure, whatever the provider sends. */
import assert from "node:assert/strict";
import type { QuotaConfig } from "../../../src/gateway/config/config.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { QuotaFailure } from "../../../src/gateway/quotas/failure.ts";
import { readQuota } from "../../../src/gateway/quotas/read.ts";
import { readerOf } from "../../../src/gateway/quotas/readers/mod.ts";
import type {
  QuotaPoll,
  QuotaSource,
} from "../../../src/gateway/quotas/readers/reader.ts";
import { isGood, type Reading } from "../../../src/gateway/quotas/reading.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
} from "../../support/gateway/config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { fixture, fixtureNames, parse, sourceOf } from "./quota_case.ts";
import { steps } from "../../support/steps.ts";

const KIND_BY_FOLDER: Readonly<Record<string, QuotaConfig["kind"]>> = {
  anthropic: "anthropic",
  codex: "codex",
  copilot: "copilot",
  deepseek: "deepseek",
  gateway: "gateway",
  json: "json",
  kimi: "kimi",
  litellm: "litellm",
  minimax: "minimax",
  moonshot: "moonshot",
  new_api: "new-api",
  openrouter: "openrouter",
  siliconflow: "siliconflow",
  sub2api: "sub2api",
  synthetic: "synthetic",
  zai: "zai",
};

/** The values that replace each value of an answer, one at a time. */
const REPLACEMENTS: readonly unknown[] = [
  null,
  undefined,
  true,
  "",
  "much",
  "9".repeat(5000),
  "2026-99-99T99:99:99Z",
  -1,
  0,
  0.5,
  1e308,
  -1e308,
  8.64e15,
  [],
  {},
  [[]],
  [null],
  { toString: null, valueOf: null },
  JSON.parse('{"__proto__": {"type": 1}, "constructor": 1}'),
];

/** Yields copies of `value`, each with one part replaced, at every depth. */
function* variants(value: unknown): Generator<unknown> {
  yield* REPLACEMENTS;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const variant of variants(item)) {
        yield value.with(index, variant);
      }
    }
  } else if (isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      for (const variant of variants(item)) {
        yield { ...value, [name]: variant };
      }
    }
  }
}

/** The body of the previous call, for readers that make several calls. */
const BEFORE: Readonly<Record<string, string>> = {
  "openrouter/credits": "openrouter/uncapped",
  "litellm/user": "litellm/key",
  "litellm/team": "litellm/key",
  "new_api/status": "new_api/token",
};

async function sourceOfFixture(name: string): Promise<QuotaSource> {
  const kind = KIND_BY_FOLDER[name.split("/")[0] ?? ""];
  assert.ok(kind, `${name} has no reader`);
  if (kind !== "json") {
    return sourceOf(kind, { quota: { key: "a-key" } });
  }
  const config = await minimalConfig({
    connections: [connectionFile({ quota: JSON_QUOTA })],
  });
  const [connection] = config.connections;
  assert.ok(connection?.quota);
  return { connection, quota: connection.quota };
}

const JSON_QUOTA = {
  kind: "json",
  url: "https://quota.example/usage",
  success: { at: "/code", in: [0] },
  windows: [{
    type: "USAGE_LIMIT",
    unit: "percent",
    at: "/data/quotas",
    where: { level: "session" },
    share: { at: "/percent", of: "used_percent" },
    resets_at: { at: "/reset", format: "epoch_seconds" },
  }, {
    type: "SPEND_LIMIT",
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
  }],
};

function assertSound(windows: readonly QuotaWindow[]): void {
  for (const window of windows) {
    for (const word of [window.type, window.window, window.unit]) {
      assert.equal(typeof word, "string");
      assert.ok(word.length > 0 && word.length <= 300, word);
    }
    const { period_unit, period_count, limit, used, remaining } = window;
    const numbers = [period_unit, period_count, limit, used, remaining];
    for (const number of [...numbers, window.used_percent]) {
      assert.ok(number === null || Number.isFinite(number), String(number));
    }
    const { resets_at } = window;
    if (resets_at === null) continue;
    assert.equal(new Date(resets_at).toISOString(), resets_at);
  }
}

/** Asserts that the reader returns sound windows or throws a typed failure. */
function assertSurvives(source: QuotaSource, bodies: readonly unknown[]): void {
  try {
    assertSound(parse(source, ...bodies));
  } catch (error) {
    if (error instanceof QuotaFailure) return;
    throw error;
  }
}

Deno.test("readers return sound windows or a typed failure for every wrong value at every place", (t) =>
  steps(t, fixtureNames(), async (name) => {
    const source = await sourceOfFixture(name);
    const before = BEFORE[name];
    const head = before === undefined ? [] : [fixture(before)];
    for (const variant of variants(fixture(name))) {
      assertSurvives(source, [...head, variant]);
    }
  }));

const TEXTS: Readonly<Record<string, string>> = {
  "nothing": "",
  "a page": "<!doctype html><title>Just a moment</title>",
  "a number": "42",
  "a text": '"quota"',
  "an empty list": "[]",
  "an empty object": "{}",
  "null": "null",
  "a deep nest": "[".repeat(50_000) + "]".repeat(50_000),
  "more than 256 KiB": JSON.stringify({ data: "x".repeat(256 * 1024) }),
};

Deno.test("readQuota() returns a typed failure for hostile bodies", async (t) => {
  for (const kind of new Set(Object.values(KIND_BY_FOLDER))) {
    const name = fixtureNames().find((one) =>
      KIND_BY_FOLDER[one.split("/")[0] ?? ""] === kind
    );
    assert.ok(name);
    const source = await sourceOfFixture(name);
    const whole = JSON.stringify(fixture(name));
    const cut = [1, 2, 3].map((part) =>
      [
        `cut after ${part} quarters`,
        whole.slice(0, whole.length * part / 4),
      ] as const
    );
    for (const [what, text] of [...Object.entries(TEXTS), ...cut]) {
      await t.step(`${kind}: ${what}`, async () => {
        const reading = await read(source, text);
        assert.ok(!isGood(reading));
        const { cause } = reading.failure;
        assert.ok(cause === undefined || cause instanceof RangeError);
        assert.ok(["invalid_response", "unavailable", "no_plan"].includes(
          reading.failure.reason,
        ));
      });
    }
  }
});

/** Returns the answer with `count` additional members. */
function withMembers(value: unknown, count: number): unknown {
  const more = Array.from({ length: count }, (_, at) => [`m${at}`, null]);
  return { ...Object(value), ...Object.fromEntries(more) };
}

Deno.test("readQuota() rejects a body with too many values before a reader parses it", async (t) => {
  for (const name of fixtureNames()) {
    const source = await sourceOfFixture(name);
    const poll = readerOf(source.quota).poll ?? assert.fail(name);
    const unasked: QuotaPoll = {
      ...poll,
      parse: () => assert.fail("the reader looks at it"),
      followUps: () => assert.fail("the reader looks at it"),
    };
    const bodies = {
      members: withMembers(fixture(name), 9000),
      rows: { data: Array(9000).fill({}) },
    };
    for (const [what, body] of Object.entries(bodies)) {
      await t.step(`${name}: ${what}`, async () => {
        const reading = await read(source, JSON.stringify(body), unasked);
        assert.ok(!isGood(reading));
        assert.equal(reading.failure.reason, "invalid_response");
        assert.match(reading.failure.message, /more than 8,192 values/);
      });
    }
  }
});

Deno.test("readQuota() rejects an answer with more than 512 windows", async () => {
  const source = await sourceOfFixture("zai/credits");
  const poll = readerOf(source.quota).poll ?? assert.fail("zai");
  const text = JSON.stringify(fixture("zai/credits"));
  const [window = assert.fail("zai")] = parse(source, fixture("zai/credits"));
  const windowsOf = (count: number): QuotaPoll => ({
    ...poll,
    parse: () => Array(count).fill(window),
  });
  assert.ok(isGood(await read(source, text, windowsOf(512))));
  const many = await read(source, text, windowsOf(513));
  assert.ok(!isGood(many));
  assert.match(many.failure.message, /more than 512 windows/);
});

Deno.test("readQuota() rejects a number that is too large for JavaScript", async () => {
  const text = JSON.stringify(fixture("zai/credits")).replace("115", "1e999");
  const reading = await read(await sourceOfFixture("zai/credits"), text);
  assert.ok(!isGood(reading));
  assert.equal(reading.failure.reason, "invalid_response");
});

function read(
  source: QuotaSource,
  text: string,
  poll = readerOf(source.quota).poll,
): Promise<Reading> {
  assert.ok(poll);
  return readQuota(poll, source, {
    fetch: () => Promise.resolve(new Response(text)),
    clock: createFakeClock(NOW_MS),
    signal: new AbortController().signal,
  });
}
