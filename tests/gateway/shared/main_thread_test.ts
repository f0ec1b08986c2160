import assert from "node:assert/strict";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createPoller } from "../../../src/gateway/quotas/poller.ts";
import { isGood } from "../../../src/gateway/quotas/reading.ts";
import {
  createKeySets,
  type KeySet,
  NoKeys,
} from "../../../src/gateway/relay/identity/key_sets.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { randomIds } from "../../../src/base/ids.ts";
import {
  answerCall,
  type Call,
  createMainKeySets,
  createMainReadings,
  createMainThread,
  createMainThreadClient,
} from "../../../src/gateway/shared/main_thread.ts";
import { RemoteSums } from "../../../src/gateway/shared/remote_sums.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import type { Sum } from "../../../src/gateway/usage/sums.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
} from "../../support/gateway/config.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { settle } from "../../support/settle.ts";
import { to } from "../../support/fakes/addition.ts";
import { createIdentity } from "../../../src/gateway/relay/identity/identity.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
  identityScene,
  ISSUER,
  KEYS_URL,
  keySetOf,
  type Serve,
} from "../../support/gateway/identity_scene.ts";

const HOUR: Sum = { table: "hour", field: "a b", endsAtMs: NOW_MS + 3_600_000 };
const DAY: Sum = { ...HOUR, table: "day", endsAtMs: NOW_MS + 86_400_000 };

const QUOTA_URL = "https://quota.example/";
const WINDOW = { type: "USAGE_LIMIT", unit: "percent", used: "/used" };

/** Opens threads that call a main thread. Messages are copied, as between real threads. */
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

Deno.test("threads gather their counts, and each reads the sums of all threads", async () => {
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

Deno.test("a dead thread's holds end within two minutes, and a running thread's holds stay", async () => {
  const { one, two, sums, pass } = await threads();
  await one.reserve("of a dead thread", claims(9));
  one.close();
  await two.reserve("of a living thread", claims(9));
  for (let count = 0; count < 5; count++) await pass(30_000);
  const held = sums.uses(claims(9)).map((use) => use.held);
  assert.deepEqual(held, [1, 1]);
  two.close();
});

Deno.test("a thread sends its last counts when it stops", async () => {
  const { one, sums } = await threads();
  one.apply({ additions: [to(HOUR, 2)] });
  one.resume();
  assert.deepEqual(sums.read([HOUR]), [2]);
  one.close();
  await settle();
});

Deno.test("a quota that several threads need is read once, and each thread gets the reading's remaining lifetime", async () => {
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

Deno.test("a thread gets an uncached failure for the quota of a removed connection", async () => {
  const { connect, requested } = await threads();
  const { reading, ttlMs } = await connect().quota("gone");
  assert.equal(reading.failure?.kind, "server");
  assert.equal(ttlMs, 0);
  assert.deepEqual(requested, []);
});

type MainThread = ReturnType<typeof createMainThread>;

const signer = await createSigner();
const NAME = `u-1 (${ISSUER})`;

const SOURCE = {
  issuer: ISSUER,
  keys: { kind: "url", url: KEYS_URL },
} as const;

/** Creates the main thread of a process with these keys. */
function mainThread(
  { keySets, liveConfig, log }: Pick<
    Awaited<ReturnType<typeof identityScene>>,
    "keySets" | "liveConfig" | "log"
  >,
): MainThread {
  const clock = createFakeClock(NOW_MS);
  const fetch = () => Promise.reject(new Error("There are no quotas"));
  return createMainThread({
    ...{ keySets, liveConfig, clock },
    sums: createMemorySums(clock),
    poller: createPoller({ fetch, clock, log }),
  });
}

/** Opens two threads that request keys from the main thread. Messages are copied, as between real threads. */
async function twoThreads(serve: Serve) {
  const scene = await identityScene(serve);
  const main = mainThread(scene);
  const createThread = () => {
    const keySets = createMainKeySets({
      keys: async (question) =>
        structuredClone(await main.keys(structuredClone(question))),
    });
    const identity = createIdentity({ ...scene, keySets });
    const callerOf = async (token: string) =>
      (await identity.callerOf(token, scene.liveConfig.current())).name;
    return { callerOf };
  };
  return { ...scene, one: createThread(), other: createThread() };
}

/** Returns the reason of a refusal, or its code. */
async function refusalOf(calling: Promise<unknown>): Promise<string> {
  try {
    await calling;
  } catch (error) {
    return String(Object(error).reason ?? Object(error).code);
  }
  throw new Error("The token was accepted.");
}

/** Signs a token. Different callers prevent that a token is remembered. */
function tokenOf(sub: string, by = signer): Promise<string> {
  return by.sign({ ...GOOD_CLAIMS, sub });
}

Deno.test("all threads share one reading of the keys", async () => {
  const { requested, one, other } = await twoThreads(keySetOf(signer));
  const names = await Promise.all([
    one.callerOf(await tokenOf("u-1")),
    other.callerOf(await tokenOf("u-1")),
  ]);
  assert.deepEqual(names, [NAME, NAME]);
  await other.callerOf(await tokenOf("u-2"));
  assert.deepEqual(requested, [KEYS_URL]);
});

Deno.test("unknown keys cause one reading in 30 seconds, however many threads see them", async () => {
  const scene = await twoThreads(keySetOf(signer));
  const { requested, one, other } = scene;
  const next = await createSigner("k2");
  const stranger = await createSigner("k3");
  await one.callerOf(await tokenOf("u-1"));
  scene.serve(keySetOf(signer, next));
  scene.advance(20_000);
  // The second thread may not read yet, because the first has just read.
  assert.equal(
    await refusalOf(other.callerOf(await tokenOf("u-1", stranger))),
    "its issuer has no such key",
  );
  assert.equal(requested.length, 1);
  scene.advance(10_000);
  assert.equal(await one.callerOf(await tokenOf("u-1", next)), NAME);
  assert.equal(await other.callerOf(await tokenOf("u-1", next)), NAME);
  for (let count = 0; count < 5; count++) {
    scene.advance(5_000);
    for (const thread of [one, other]) {
      await refusalOf(thread.callerOf(await tokenOf(`${count}`, stranger)));
    }
  }
  assert.equal(requested.length, 2);
});

Deno.test("an unreachable issuer gets one request in five seconds, from any number of threads", async () => {
  const scene = await twoThreads(() => Promise.reject(new Error("away")));
  const { requested, one, other } = scene;
  for (const thread of [one, other]) {
    const refusal = await refusalOf(thread.callerOf(await tokenOf("u-1")));
    assert.equal(refusal, "identity_unavailable");
  }
  assert.equal(requested.length, 1);
  assert.equal(scene.log.entries.length, 1);
  scene.serve(keySetOf(signer));
  scene.advance(5_000);
  assert.equal(await other.callerOf(await tokenOf("u-1")), NAME);
  assert.equal(await one.callerOf(await tokenOf("u-1")), NAME);
  assert.equal(requested.length, 2);
});

Deno.test("keys that another thread has just read are not read again", async () => {
  const next = await createSigner("k2");
  const scene = await identityScene(keySetOf(signer));
  const { keySets, requested, advance, serve } = scene;
  const old = await keySets.of(SOURCE);
  serve(keySetOf(next));
  advance(30_000);
  const renewed = await keySets.renewed(SOURCE, old);
  assert.equal(renewed?.keys[0]?.kid, "k2");
  assert.equal(await keySets.renewed(SOURCE, old), renewed);
  const newest = { id: renewed?.id ?? 0 };
  assert.equal(await keySets.renewed(SOURCE, newest), undefined);
  assert.equal(requested.length, 2);
});

Deno.test("a thread checks a token again with keys that it received meanwhile", async () => {
  const scene = await identityScene(keySetOf(signer));
  const keySets = createMainKeySets(mainThread(scene));
  const old = await keySets.of(SOURCE);
  scene.serve(keySetOf(await createSigner("k2")));
  scene.advance(30_000);
  const renewed = await keySets.renewed(SOURCE, old);
  assert.equal(renewed?.keys[0]?.kid, "k2");
  // Another request of the thread began with the old keys, too.
  assert.equal(await keySets.renewed(SOURCE, old), renewed);
  assert.equal(scene.requested.length, 2);
});

Deno.test("a thread keeps one object for each reading until the configuration removes the issuer", async () => {
  const copies: (KeySet | undefined)[] = [];
  const keySets = createMainKeySets({
    keys: () => Promise.resolve({ set: { id: 7, keys: [] } }),
  });
  const { identity } = await minimalConfig({ identity: [identityFile()] });
  copies.push(await keySets.of(SOURCE));
  keySets.retain(identity);
  copies.push(await keySets.of(SOURCE));
  keySets.retain([]);
  copies.push(await keySets.of(SOURCE));
  assert.equal(copies[1], copies[0]);
  assert.notEqual(copies[2], copies[0]);
});

Deno.test("a refusal for lack of keys has the time until the next reading of keys", async () => {
  const keySets = createMainKeySets({
    keys: () => Promise.resolve({ retryAfterMs: 1234 }),
  });
  await assert.rejects(
    keySets.of(SOURCE),
    (error) => error instanceof NoKeys && error.retryAfterMs === 1234,
  );
});
