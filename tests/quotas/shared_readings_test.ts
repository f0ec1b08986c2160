import assert from "node:assert/strict";
import type { Connection } from "../../src/config/config.ts";
import {
  fromPlain,
  type LastingReading,
  type SharedReadings,
  toPlain,
} from "../../src/quotas/reading.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { connectionOf, windowOf } from "./quota_case.ts";
import {
  callerOf,
  configWith,
  createHarness,
  entryOf,
} from "./service_harness.ts";

const ZAI = connectionOf("zai", { name: "zai" });

/** What replicas left, and what this one does. */
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

Deno.test("a quota that another replica has read is not read again while it is valid", async () => {
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

Deno.test("an unread quota is read once, and published for the others with its lifetime", async () => {
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

Deno.test("a failure is left for the others, too", async () => {
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

Deno.test("a reading survives being sent as JSON, a failed one too", async () => {
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
