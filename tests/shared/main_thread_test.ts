import assert from "node:assert/strict";
import { createLiveConfig } from "../../src/config/live_config.ts";
import { createPoller } from "../../src/quotas/poller.ts";
import { isGood } from "../../src/quotas/reading.ts";
import { createKeySets } from "../../src/relay/identity/key_sets.ts";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { randomIds } from "../../src/core/ids.ts";
import {
  answerCall,
  type Call,
  createMainReadings,
  createMainThread,
  createMainThreadClient,
} from "../../src/shared/main_thread.ts";
import { RemoteSums } from "../../src/shared/remote_sums.ts";
import { createMemorySums } from "../../src/usage/memory_sums.ts";
import type { Sum } from "../../src/usage/sums.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
} from "../support/gateway/config.ts";
import { createMemoryLog } from "../support/fakes/memory_log.ts";
import { settle } from "../support/settle.ts";

import { to } from "../support/fakes/addition.ts";

const HOUR: Sum = { table: "hour", field: "a b", endsAtMs: NOW_MS + 3_600_000 };
const DAY: Sum = { ...HOUR, table: "day", endsAtMs: NOW_MS + 86_400_000 };

const QUOTA_URL = "https://quota.example/";
const WINDOW = { type: "USAGE_LIMIT", unit: "percent", used: "/used" };

/** Threads that call a main thread; what is sent is copied, as between threads. */
async function threads() {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const sums = createMemorySums(clock);
  const deadlines = createDeadlines(timers);
  const log = createMemoryLog();
  const file = { quota: { kind: "json", url: QUOTA_URL, windows: [WINDOW] } };
  const config = await minimalConfig({ connections: [connectionFile(file)] });
  const liveConfig = createLiveConfig(config);
  const requested: string[] = [];
  const fetch = (url: string) => {
    requested.push(url);
    return Promise.resolve(Response.json({ used: 40 }));
  };
  const poller = createPoller({ fetch, clock, log });
  poller.retain(config.connections);
  const keySets = createKeySets({ fetch, clock, log, deadlines });
  const main = createMainThread({ sums, poller, keySets, liveConfig, clock });
  const calls: Call[] = [];
  function connect() {
    const thread = createMainThreadClient(async (call) => {
      calls.push(call);
      const reply = await answerCall(main, structuredClone(call));
      thread.take({ ...reply, id: 10_000 });
      thread.take(structuredClone(reply));
      thread.take(reply);
    });
    return thread.main;
  }
  const start = () =>
    new RemoteSums({
      ledger: { ...connect(), isAway: false },
      clock,
      deadlines,
      ids: randomIds,
      gatherMs: 20,
      waitMs: 50,
    });
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    timers.advance(ms);
    await settle();
  }
  return {
    ...{ one: start(), two: start(), connect, sums, pass, calls },
    ...{ requested, liveConfig },
  };
}

function claims(most: number) {
  return [
    { sums: [HOUR], key: "hour", amount: 1, most: Infinity },
    { sums: [DAY], key: "day", amount: 1, most },
  ];
}

Deno.test("threads are granted together what there is, and learn how far each limit is used", async () => {
  const { one, two, sums } = await threads();
  const decisions = await Promise.all([one, two, one, two, one]
    .map((thread, index) => thread.reserve(`request ${index}`, claims(3))));
  const refused = decisions.filter(({ isGranted }) => !isGranted);
  assert.equal(refused.length, 2);
  for (const { uses } of refused) {
    assert.deepEqual(uses, [{ counted: [0], held: 3 }, {
      counted: [0],
      held: 3,
    }]);
  }
  assert.deepEqual(
    await two.uses(claims(3)),
    sums.uses(claims(3)),
  );
});

Deno.test("threads gather their counts, and each reads the sums of all", async () => {
  const { one, two, sums, pass, calls } = await threads();
  for (let count = 0; count < 50; count++) {
    one.apply({ additions: [to(HOUR, 2)] });
  }
  assert.equal(calls.length, 0);
  await pass(20);
  assert.equal(calls.length, 1);
  assert.deepEqual(sums.read([HOUR]), [100]);
  assert.deepEqual([...await two.table("hour")], [["a b", 100]]);
  assert.deepEqual(await two.read([HOUR]), [100]);
  assert.equal(two.sinceMs, sums.sinceMs);
  assert.ok(one.isSettled);
});

Deno.test("one of all threads is the first", async () => {
  const { one, two } = await threads();
  const asked = await Promise.all([one, two, one]
    .map((thread) => thread.once("name", NOW_MS + 1000)));
  assert.deepEqual(asked, [true, false, false]);
});

Deno.test("a dead thread's holds end within two minutes, and a living one's stay", async () => {
  const { one, two, sums, pass } = await threads();
  await one.reserve("of a dead thread", claims(9));
  one.close();
  await two.reserve("of a living thread", claims(9));
  for (let count = 0; count < 5; count++) await pass(30_000);
  const held = sums.uses(claims(9)).map((use) => use.held);
  assert.deepEqual(held, [1, 1]);
  two.close();
});

Deno.test("a thread's last counts are sent when it stops", async () => {
  const { one, sums } = await threads();
  one.apply({ additions: [to(HOUR, 2)] });
  one.resume();
  assert.deepEqual(sums.read([HOUR]), [2]);
  one.close();
  await settle();
});

Deno.test("a quota that several threads need is read once, with its validity", async () => {
  const { connect, requested, liveConfig, pass } = await threads();
  const [connection] = liveConfig.current().connections;
  assert.ok(connection);
  const { signal } = new AbortController();
  const find = async () =>
    await createMainReadings(connect()).find(connection, signal);
  const found = await Promise.all([find(), find()]);
  await pass(1000);
  for (const [one, ttlMs] of [[found[0], 60_000], [await find(), 59_000]]) {
    assert.ok(typeof one === "object" && isGood(one.reading));
    assert.equal(one.reading.windows[0]?.used, 40);
    assert.equal(one.ttlMs, ttlMs);
  }
  assert.deepEqual(requested, [QUOTA_URL]);
});

Deno.test("a request of a thread for the quota of a removed connection is a failure that it does not keep", async () => {
  const { connect, requested } = await threads();
  const { reading, ttlMs } = await connect().quota("gone");
  assert.equal(reading.failure?.kind, "server");
  assert.equal(ttlMs, 0);
  assert.deepEqual(requested, []);
});
