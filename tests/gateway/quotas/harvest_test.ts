import assert from "node:assert/strict";
import type { Connection } from "../../../src/gateway/config/config.ts";
import { createHarvest } from "../../../src/gateway/quotas/harvest.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { connectionOf, windowOf } from "./quota_case.ts";
import {
  callerOf,
  configWith,
  createHarness,
  entryOf,
} from "./service_harness.ts";
import {
  fromPlain,
  type LastingReading,
  type SharedReadings,
  toPlain,
} from "../../../src/gateway/quotas/reading.ts";

const OPENAI = connectionOf("openai", { name: "openai" });

function rateLimits(remaining: number, reset = "60s"): Headers {
  return new Headers({
    "x-ratelimit-limit-requests": "100",
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": reset,
  });
}

Deno.test("a harvest has the quota of the last answer that reported one, with its time", () => {
  const clock = createFakeClock(NOW_MS);
  const harvest = createHarvest({ clock });
  assert.equal(harvest.reading(OPENAI), undefined);
  harvest.observe(OPENAI, rateLimits(90));
  clock.advance(5000);
  harvest.observe(OPENAI, rateLimits(80));
  clock.advance(5000);
  // An error of an intermediate proxy has no such headers.
  harvest.observe(OPENAI, new Headers({ "content-type": "text/html" }));
  assert.deepEqual(harvest.reading(OPENAI), {
    checkedAtMs: NOW_MS + 5000,
    windows: [
      windowOf(
        "REQUESTS_LIMIT unknown requests 100 20 80 20 2026-01-01T00:01:05.000Z",
      ),
    ],
  });
});

Deno.test("a harvest is empty for a service without a quota in headers", () => {
  const harvest = createHarvest({ clock: createFakeClock(NOW_MS) });
  for (const kind of ["zai", undefined] as const) {
    const connection = connectionOf(kind);
    harvest.observe(connection, rateLimits(90));
    assert.equal(harvest.reading(connection), undefined);
  }
  assert.equal(harvest.size, 0);
});

Deno.test("a harvest ignores invalid values of known headers", () => {
  const harvest = createHarvest({ clock: createFakeClock(NOW_MS) });
  const headers = new Headers({ "x-ratelimit-limit-requests": "unlimited" });
  harvest.observe(OPENAI, headers);
  assert.equal(harvest.reading(OPENAI), undefined);
});

Deno.test("a harvested window keeps only its size after its reset", () => {
  const clock = createFakeClock(NOW_MS);
  const harvest = createHarvest({ clock });
  harvest.observe(OPENAI, rateLimits(90));
  clock.advance(59_999);
  assert.equal(harvest.reading(OPENAI)?.windows[0]?.used, 10);
  clock.advance(1);
  assert.deepEqual(harvest.reading(OPENAI)?.windows, [
    windowOf("REQUESTS_LIMIT unknown requests 100 - - -"),
  ]);
});

Deno.test("a harvested reset in the past does not begin a new window", () => {
  const clock = createFakeClock(NOW_MS);
  const harvest = createHarvest({ clock });
  harvest.observe(OPENAI, rateLimits(90, "2025-12-31T23:59:59Z"));
  clock.advance(60_000);
  assert.deepEqual(harvest.reading(OPENAI)?.windows, [
    windowOf(
      "REQUESTS_LIMIT unknown requests 100 10 90 10 2025-12-31T23:59:59.000Z",
    ),
  ]);
});

Deno.test("a harvest survives a reload that does not change the connection's credential", () => {
  const harvest = createHarvest({ clock: createFakeClock(NOW_MS) });
  const other = connectionOf("openai", { name: "other" });
  harvest.observe(OPENAI, rateLimits(90));
  harvest.observe(other, rateLimits(70));
  const again = connectionOf("openai", { name: "openai" });
  const changed = connectionOf("openai", {
    name: "other",
    auth: { scheme: "bearer", key: "another-key" },
  });
  assert.equal(harvest.reading(again)?.windows[0]?.used, 10);
  assert.equal(harvest.reading(changed), undefined);
  harvest.retain([again, changed]);
  assert.equal(harvest.size, 1);
  harvest.retain([]);
  assert.equal(harvest.size, 0);
});

Deno.test("read() shows the quota in the last answer's headers for a service that has no quota endpoint", async () => {
  const { service, harvest, clock, calls } = createHarness();
  const config = await configWith(OPENAI);
  const read = async () =>
    entryOf(await service.read(callerOf(OPENAI), config), "openai");
  const nothing = await read();
  assert.equal(nothing.status, "unavailable");
  assert.equal(nothing.error?.type, "provider_limits_not_known_yet");
  assert.equal(nothing.cached, false);
  harvest.observe(OPENAI, rateLimits(90));
  clock.advance(10_000);
  const seen = await read();
  assert.equal(seen.status, "ok");
  assert.equal(seen.cached, true);
  assert.equal(seen.checked_at, "2026-01-01T00:00:00.000Z");
  assert.deepEqual(calls, []);
});

Deno.test("read() of an Anthropic API key sends no request", async () => {
  const { service, harvest, calls } = createHarness();
  const auth = { scheme: "x-api-key", key: "k" } as const;
  const one = connectionOf("anthropic", { auth });
  const headers = new Headers({
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
  });
  harvest.observe(one, headers);
  const list = await service.read(callerOf(one), await configWith(one));
  assert.equal(list.data[0]?.limits[0]?.remaining, 49);
  assert.deepEqual(calls, []);
});

const CODEX = connectionOf("codex", {
  name: "codex",
  base: "https://codex.example/v1",
});

function codexUsage(slots: Readonly<Record<string, number>>): Response {
  const window = (length: number, used: number) => ({
    used_percent: used,
    limit_window_seconds: length,
    reset_at: NOW_MS / 1000 + length,
  });
  return Response.json({
    rate_limit: {
      primary_window: window(18_000, slots["hours"] ?? 0),
      secondary_window: window(604_800, slots["week"] ?? 0),
    },
    ...(slots["review"] === undefined ? {} : {
      code_review_rate_limit: {
        primary_window: window(604_800, slots["review"]),
      },
    }),
  });
}

function codexHeaders(hours: number, week: number): Headers {
  return new Headers({
    "x-codex-primary-used-percent": String(hours),
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": String(NOW_MS / 1000 + 18_000),
    "x-codex-secondary-used-percent": String(week),
    "x-codex-secondary-window-minutes": "10080",
  });
}

function usedOf(connection: Connection): {
  read(): Promise<[string, boolean, (number | null)[]]>;
  harness: ReturnType<typeof createHarness>;
} {
  const harness = createHarness();
  const read = async (): Promise<[string, boolean, (number | null)[]]> => {
    const config = await configWith(connection);
    const list = await harness.service.read(callerOf(connection), config);
    const entry = entryOf(list, connection.name);
    return [
      entry.checked_at.slice(11, 19),
      entry.cached,
      entry.limits.map(({ used }) => used),
    ];
  };
  return { read, harness };
}

Deno.test("read() prefers the newer reading, from the endpoint or from headers", async () => {
  const { read, harness } = usedOf(CODEX);
  const { clock, harvest, scripts } = harness;
  scripts.set("codex.example", () => codexUsage({ hours: 7, week: 2 }));
  harvest.observe(CODEX, codexHeaders(5, 1));
  clock.advance(10_000);
  assert.deepEqual(await read(), ["00:00:10", false, [7, 2]]);
  clock.advance(10_000);
  harvest.observe(CODEX, codexHeaders(9, 3));
  clock.advance(10_000);
  assert.deepEqual(await read(), ["00:00:20", true, [9, 3]]);
});

Deno.test("read() keeps windows that only the endpoint reports, and their age", async () => {
  const { read, harness } = usedOf(CODEX);
  const { clock, harvest, scripts } = harness;
  scripts.set(
    "codex.example",
    () => codexUsage({ hours: 7, week: 2, review: 50 }),
  );
  assert.deepEqual(await read(), ["00:00:00", false, [7, 2, 50]]);
  clock.advance(10_000);
  const headers = codexHeaders(9, 3);
  headers.set("x-codex-credits-balance", "4");
  harvest.observe(CODEX, headers);
  assert.deepEqual(await read(), ["00:00:00", true, [9, 3, 50, null]]);
});

Deno.test("read() uses the headers when the endpoint rejects the token", async () => {
  const { read, harness } = usedOf(CODEX);
  const { clock, harvest, scripts } = harness;
  scripts.set("codex.example", () => new Response("no", { status: 403 }));
  harvest.observe(CODEX, codexHeaders(9, 3));
  clock.advance(10_000);
  assert.deepEqual(await read(), ["00:00:00", true, [9, 3]]);
});

Deno.test("read() shows the endpoint's failure after every harvested window has reset", async () => {
  const harness = createHarness();
  const { service, clock, harvest, scripts } = harness;
  scripts.set("codex.example", () => new Response("no", { status: 401 }));
  const headers = codexHeaders(9, 3);
  for (const name of [...headers.keys()]) {
    if (name.startsWith("x-codex-secondary")) headers.delete(name);
  }
  harvest.observe(CODEX, headers);
  clock.advance(18_000_000);
  const list = await service.read(callerOf(CODEX), await configWith(CODEX));
  assert.equal(
    entryOf(list, "codex").error?.type,
    "provider_limits_unauthorized",
  );
});

Deno.test("read() forgets the harvested quotas of removed connections", async () => {
  const { service, harvest } = createHarness();
  const config = await configWith(OPENAI);
  await service.read(callerOf(OPENAI), config);
  harvest.observe(OPENAI, rateLimits(90));
  // Streams of an old config end after the reload.
  harvest.observe(CODEX, codexHeaders(9, 3));
  await service.read(callerOf(OPENAI), config);
  assert.equal(harvest.size, 1);
});

Deno.test("a harvest announces new quotas once until takeNews(), and returns the latest quota of each connection", () => {
  const clock = createFakeClock(NOW_MS);
  let announced = 0;
  const harvest = createHarvest({ clock, onNews: () => announced++ });
  harvest.observe(connectionOf("zai"), rateLimits(90));
  assert.equal(announced, 0);
  harvest.observe(OPENAI, rateLimits(90));
  harvest.observe(OPENAI, rateLimits(80));
  assert.equal(announced, 1);
  const [news, ...others] = harvest.takeNews();
  assert.equal(news?.connection, OPENAI);
  assert.equal(news?.reading.windows[0]?.remaining, 80);
  assert.deepEqual(others, []);
  assert.deepEqual(harvest.takeNews(), []);
  harvest.observe(OPENAI, rateLimits(70));
  assert.equal(announced, 2);
});

Deno.test("a harvest accepts newer quotas from other harvests without an announcement, and ignores older quotas", () => {
  const clock = createFakeClock(NOW_MS);
  const harvest = createHarvest({ clock, onNews() {} });
  const elsewhere = createHarvest({ clock });
  elsewhere.observe(OPENAI, rateLimits(60));
  const reading = elsewhere.reading(OPENAI);
  assert.ok(reading);
  harvest.learn(OPENAI, reading);
  assert.deepEqual(harvest.reading(OPENAI), reading);
  assert.deepEqual(harvest.takeNews(), []);
  clock.advance(1);
  harvest.observe(OPENAI, rateLimits(50));
  harvest.learn(OPENAI, reading);
  assert.equal(harvest.reading(OPENAI)?.windows[0]?.remaining, 50);
  clock.advance(60_000);
  assert.equal(elsewhere.reading(OPENAI)?.windows[0]?.used, null);
});

const ZAI = connectionOf("zai", { name: "zai" });

/** Creates readings that replicas share. Another replica may have left `found`. */
function createReadings(found?: LastingReading) {
  const published: (readonly [Connection, LastingReading])[] = [];
  const shared: SharedReadings = {
    find: () => Promise.resolve(found),
    publish: (...one) => void published.push(one),
  };
  return { shared, published };
}

const ELSEWHERE: LastingReading = {
  reading: {
    checkedAtMs: NOW_MS - 5000,
    windows: [windowOf("USAGE_LIMIT 5h percent 100 7 93 7")],
  },
  ttlMs: 2000,
};

Deno.test("a replica does not read a quota while another replica's reading is valid", async () => {
  const { shared, published } = createReadings(ELSEWHERE);
  const { service, calls, clock } = createHarness({ sharedReadings: shared });
  const config = await configWith(ZAI);
  for (const afterMs of [0, 1999]) {
    clock.advance(afterMs);
    const entry = entryOf(await service.read(callerOf(ZAI), config), "zai");
    assert.equal(entry.limits[0]?.used, 7);
    assert.equal(entry.checked_at, "2025-12-31T23:59:55.000Z");
  }
  assert.deepEqual([calls, published], [[], []]);
});

Deno.test("a replica reads an unread quota once, and publishes it with its lifetime", async () => {
  const { shared, published } = createReadings();
  const reported: unknown[] = [];
  const { service, calls } = createHarness({
    sharedReadings: shared,
    onRead: (connection, lasting) => reported.push([connection, lasting]),
  });
  const config = await configWith(ZAI);
  await service.read(callerOf(ZAI), config);
  assert.deepEqual(calls, ["quota.example"]);
  const [[connection, lasting] = []] = published;
  assert.equal(connection, ZAI);
  assert.equal(lasting?.ttlMs, 60_000);
  assert.deepEqual(reported, published);
});

Deno.test("a replica also publishes a failed reading", async () => {
  const { shared, published } = createReadings();
  const { service, scripts } = createHarness({ sharedReadings: shared });
  scripts.set("quota.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(ZAI), await configWith(ZAI));
  assert.equal(published[0]?.[1].ttlMs, 10_000);
});

Deno.test("learn() keeps a newer reading for its lifetime, and sends no request", async () => {
  const { service, poller, calls, clock } = createHarness();
  const config = await configWith(ZAI);
  poller.learn(ZAI, ELSEWHERE);
  assert.equal(service.known(ZAI)[0]?.used, 7);
  const { reading } = ELSEWHERE;
  const older = { ...reading, checkedAtMs: NOW_MS - 6000, windows: [] };
  poller.learn(ZAI, { reading: older, ttlMs: 9000 });
  assert.equal(service.known(ZAI)[0]?.used, 7);
  const entry = entryOf(await service.read(callerOf(ZAI), config), "zai");
  assert.equal(entry.cached, true);
  assert.deepEqual(calls, []);
  clock.advance(2000);
  assert.deepEqual(service.known(ZAI), []);
});

Deno.test("a reading, successful or failed, is equal after conversion to JSON and back", async () => {
  const { service, poller, scripts } = createHarness();
  scripts.set(
    "quota.example",
    () => new Response(null, { status: 429, headers: { "retry-after": "30" } }),
  );
  await service.read(callerOf(ZAI), await configWith(ZAI));
  const failed = poller.known(ZAI);
  assert.ok(failed && "failure" in failed);
  for (const reading of [failed, ELSEWHERE.reading]) {
    const sent = fromPlain(JSON.parse(JSON.stringify(toPlain(reading))));
    assert.deepEqual(toPlain(sent), toPlain(reading));
  }
  assert.equal(toPlain(failed).failure?.retryAfterMs, 30_000);
});
