/**
 * The contract of shared sums: within one process, by threads through the main thread, and by replicas through a store.
 * Each behaviour is tested with all three.
 */
import assert from "node:assert/strict";
import { createLiveConfig } from "../../src/gateway/config/live_config.ts";
import { randomIds } from "../../src/base/ids.ts";
import { createDeadlines } from "../../src/base/time/deadlines.ts";
import { systemClock } from "../../src/base/time/timers.ts";
import { createPoller } from "../../src/gateway/quotas/poller.ts";
import { createKeySets } from "../../src/gateway/relay/identity/key_sets.ts";
import {
  answerCall,
  createMainThread,
  createMainThreadClient,
} from "../../src/gateway/shared/main_thread.ts";
import { RemoteSums } from "../../src/gateway/shared/remote_sums.ts";
import { createMemorySums } from "../../src/gateway/usage/memory_sums.ts";
import {
  type Claim,
  holdsOf,
  type Sum,
  type Sums,
} from "../../src/gateway/usage/sums.ts";
import { to } from "../support/fakes/addition.ts";
import { createMemoryLog } from "../support/fakes/memory_log.ts";
import { minimalConfig } from "../support/gateway/config.ts";
import { connectProcess } from "../support/gateway/store_process.ts";
import { testNeeding } from "../support/ignored.ts";
import {
  startStoreServer,
  storeProgram,
} from "../support/program/store_server.ts";
import { until } from "../support/within.ts";

/** Two users of the same sums. */
interface Pair extends AsyncDisposable {
  readonly one: Sums;
  readonly two: Sums;
}

async function openThreads(): Promise<Pair> {
  const clock = systemClock;
  const deadlines = createDeadlines();
  const log = createMemoryLog();
  const fetch = () => Promise.reject(new Error("There is no network"));
  const main = createMainThread({
    sums: createMemorySums(clock),
    poller: createPoller({ fetch, clock, log }),
    keySets: createKeySets({ fetch, clock, log, deadlines }),
    liveConfig: createLiveConfig(await minimalConfig()),
    clock,
  });
  const [one, two] = [0, 1].map(() => {
    const thread = createMainThreadClient(async (call) => {
      // Threads send copies.
      const reply = await answerCall(main, structuredClone(call));
      thread.take(structuredClone(reply));
    });
    const ledger = { ...thread.main, isAway: false };
    const times = { clock, deadlines, gatherMs: 20, waitMs: 60_000 };
    return new RemoteSums({ ledger, ids: randomIds, ...times });
  });
  assert.ok(one && two);
  const close = () => {
    one.close();
    two.close();
    return Promise.resolve();
  };
  return { one, two, [Symbol.asyncDispose]: close };
}

async function openReplicas(): Promise<Pair> {
  const server = await startStoreServer();
  const [one, two] = await Promise.all(
    [0, 1].map(() => connectProcess({ port: server.port })),
  );
  assert.ok(one && two);
  for (const process of [one, two]) await process.until("connected");
  return {
    one: one.sums,
    two: two.sums,
    async [Symbol.asyncDispose]() {
      for (const process of [one, two, server]) {
        await process[Symbol.asyncDispose]();
      }
    },
  };
}

function openProcess(): Promise<Pair> {
  const sums = createMemorySums(systemClock);
  const close = () => Promise.resolve();
  return Promise.resolve({
    one: sums,
    two: sums,
    [Symbol.asyncDispose]: close,
  });
}

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

const SHARERS = {
  "one process": { open: openProcess, lack: false },
  "threads": { open: openThreads, lack: false },
  "replicas with a store": { open: openReplicas, lack },
} as const;

const HOUR: Sum = {
  table: "counts\thour\t1\ttoken\talice",
  field: "requests",
  endsAtMs: Date.now() + 3_600_000,
};
const DAY: Sum = { ...HOUR, table: "counts\tday\t1\ttoken\talice" };

function claim(sum: Sum, most: number): Claim {
  return { sums: [sum], key: sum.table, amount: 1, most };
}

/** Waits until a sum has a value for a reader. */
async function untilSum(reader: Sums, sum: Sum, wanted: number): Promise<void> {
  await until(
    async () => (await reader.table(sum.table)).get(sum.field) === wanted,
    `a sum of ${wanted}`,
  );
}

/** Waits until a limit has this use by counted requests and by running ones. */
async function untilUsed(
  reader: Sums,
  sum: Sum,
  { counted, held }: { readonly counted: number; readonly held: number },
): Promise<void> {
  await until(async () => {
    const [use] = await reader.uses([claim(sum, 0)]);
    return use?.counted[0] === counted && use.held === held;
  }, `${counted} counted and ${held} held`);
}

const CONTRACT: Readonly<Record<string, (pair: Pair) => Promise<void>>> = {
  "grant parallel requests exactly the room of a limit": async (
    { one, two },
  ) => {
    const ask = (_: unknown, index: number) =>
      (index % 2 === 0 ? one : two).reserve(`req_${index}`, [claim(DAY, 7)]);
    const asked = await Promise.all(Array.from({ length: 40 }, ask));
    assert.equal(asked.filter(({ isGranted }) => isGranted).length, 7);
    for (const { isGranted, uses } of asked) {
      if (!isGranted) assert.deepEqual(uses, [{ counted: [0], held: 7 }]);
    }
    for (const sums of [one, two]) {
      await untilUsed(sums, DAY, { counted: 0, held: 7 });
    }
  },
  "grant all claims of a request or none": async ({ one, two }) => {
    const both = [claim(HOUR, Infinity), claim(DAY, 1)];
    assert.equal((await one.reserve("req_1", both)).isGranted, true);
    assert.equal((await two.reserve("req_2", both)).isGranted, false);
    for (const sums of [one, two]) {
      await untilUsed(sums, HOUR, { counted: 0, held: 1 });
    }
  },
  "hold a request once under a key that several windows share": async (
    { one, two },
  ) => {
    const shared = [HOUR, DAY].map((sum, index) => ({
      ...claim(sum, 4),
      ...{ key: "requests of alice", amount: 1 + index },
    }));
    for (const id of ["req_1", "req_2"]) {
      assert.equal((await one.reserve(id, shared)).isGranted, true, id);
    }
    assert.equal((await two.reserve("req_3", shared)).isGranted, false);
    one.apply({ additions: [], releases: holdsOf("req_1", shared) });
    await until(async () => {
      const uses = await two.uses(shared);
      return uses.every(({ held }) => held === 2);
    }, "one request's hold");
  },
  "count the additions of both, each once": async ({ one, two }) => {
    for (let count = 0; count < 200; count++) {
      (count % 2 === 0 ? one : two).apply({
        additions: [to(HOUR, 2), to(DAY, 3)],
      });
    }
    for (const sums of [one, two]) {
      await untilSum(sums, HOUR, 400);
      await untilSum(sums, DAY, 600);
      assert.deepEqual(await sums.read([DAY, HOUR]), [600, 400]);
    }
  },
  "release a hold with the count that replaces it": async ({ one, two }) => {
    await one.reserve("req_1", [claim(DAY, 2)]);
    one.apply({
      additions: [to(DAY, 1)],
      releases: [{ key: DAY.table, id: "req_1", amount: 1 }],
    });
    await untilUsed(two, DAY, { counted: 1, held: 0 });
    assert.equal((await two.reserve("req_2", [claim(DAY, 2)])).isGranted, true);
    assert.equal(
      (await one.reserve("req_3", [claim(DAY, 2)])).isGranted,
      false,
    );
  },
  "have no amounts in a table without additions": async ({ one, two }) => {
    one.apply({ additions: [to(HOUR, 1)] });
    assert.deepEqual([...await two.table(DAY.table)], []);
    assert.deepEqual(await two.read([DAY]), [0]);
  },
  "ignore an addition to a window that has ended": async ({ one, two }) => {
    one.apply({ additions: [to({ ...DAY, endsAtMs: 1 }, 5), to(HOUR, 1)] });
    await untilSum(two, HOUR, 1);
    assert.deepEqual([...await one.table(DAY.table)], []);
  },
  "let exactly one caller be the first to use a name": async ({ one, two }) => {
    const endsAtMs = Date.now() + 60_000;
    const asked = await Promise.all(
      [one, two, one, two].map((sums) => sums.once("name", endsAtMs)),
    );
    assert.equal(asked.filter((isFirst) => isFirst).length, 1);
    assert.equal(await two.once("another", endsAtMs), true);
  },
  "begin a session's window with its first addition, end it at the earliest end, and begin the next one":
    async (
      { one, two },
    ) => {
      const endsAtMs = Date.now() + 1500;
      const life = (ms: number): Sum => ({
        table: "counts\tsession\t\tsession\talice\t7",
        ...{ field: "requests", endsAtMs: endsAtMs + ms, isLife: true },
        crowd: "counts\tsession\t\tsession\talice",
      });
      const useOf = async (sums: Sums) =>
        (await sums.uses([claim(life(0), 9)]))[0];
      assert.equal((await useOf(two))?.endsAtMs, undefined);
      one.apply({ additions: [to(life(60_000), 1)] });
      await until(async () => (await useOf(two))?.counted[0] === 1, "one");
      two.apply({ additions: [to(life(0), 2)] });
      one.apply({ additions: [to(life(90_000), 4)] });
      for (const sums of [one, two]) {
        await until(async () => (await useOf(sums))?.counted[0] === 7, "all");
        const found = (await useOf(sums))?.endsAtMs ?? 0;
        assert.ok(Math.abs(found - endsAtMs) < 100, `${found - endsAtMs}`);
      }
      await until(async () => (await useOf(two))?.counted[0] === 0, "its end");
      // A late addition to an ended window does not count.
      one.apply({ additions: [to(life(0), 5)] });
      one.apply({ additions: [to(life(60_000), 3)] });
      await until(async () => (await useOf(two))?.counted[0] === 3, "the next");
      const { endsAtMs: next = 0 } = await useOf(one) ?? {};
      assert.ok(Math.abs(next - endsAtMs - 60_000) < 100);
    },
  "agree on the moment from which all usage is counted": async (
    { one, two },
  ) => {
    one.apply({ additions: [to(DAY, 1)] });
    await until(async () => {
      for (const sums of [one, two]) await sums.table(DAY.table);
      return one.sinceMs === two.sinceMs;
    }, "both to know the same");
    assert.ok(one.sinceMs <= Date.now());
  },
};

for (const [sharer, { open, lack }] of Object.entries(SHARERS)) {
  testNeeding(`the sums of ${sharer} keep the contract`, lack, async (t) => {
    for (const [behaviour, keep] of Object.entries(CONTRACT)) {
      await t.step(`sums ${behaviour}`, async () => {
        await using pair = await open();
        await keep(pair);
      });
    }
  });
}
