import assert from "node:assert/strict";
import { digestOf } from "../../../../src/base/sha256.ts";
import {
  dayAmounts,
  daysTable,
  HISTORY_DAYS,
} from "../../../../src/gateway/usage/history.ts";
import { soon, type Sum, usedOf } from "../../../../src/gateway/usage/sums.ts";
import { createFakeClock } from "../../../support/fakes/fake_clock.ts";
import {
  connectProcess,
  type StoreProcess,
} from "../../../support/gateway/store_process.ts";
import {
  startStoreServer,
  storeProgram,
  type StoreServer,
} from "../../../support/program/store_server.ts";
import { startTcpRelay } from "../../../support/upstream/tcp_relay.ts";
import { until } from "../../../support/within.ts";
import { testNeeding } from "../../../support/ignored.ts";

import { to } from "../../../support/fakes/addition.ts";
import { steps } from "../../../support/steps.ts";

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

const DAY: Sum = {
  table: "counts\tday\t1767225600\ttoken\talice",
  field: "requests",
  endsAtMs: Date.now() + 86_400_000,
};
const TOKENS: Sum = { ...DAY, field: "tokens" };

const LIMIT = { sums: [DAY], key: "alice requests" };

let requests = 0;

/** A store, and a process connected to it. */
interface Scene {
  readonly server: StoreServer;
  readonly one: StoreProcess;
}

/** Tests a store with a process that is connected to it. */
function testStore(name: string, fn: (scene: Scene) => Promise<void>): void {
  testNeeding(name, lack, async () => {
    await using server = await startStoreServer();
    await using one = await connectedTo(server);
    await fn({ server, one });
  });
}

/** Tests a store with two processes that are connected to it. */
function testTwo(
  name: string,
  fn: (scene: Scene & { readonly two: StoreProcess }) => Promise<void>,
): void {
  testStore(name, async ({ server, one }) => {
    await using two = await connectedTo(server);
    await fn({ server, one, two });
  });
}

/** Connects another process to a store. */
async function connectedTo({ port }: StoreServer): Promise<StoreProcess> {
  const process = await connectProcess({ port });
  await process.until("connected");
  return process;
}

/** Returns true if a limit grants a new request. */
async function isGranted(process: StoreProcess, most: number) {
  return (await take(process, most)).isGranted;
}

/** Claims a new request. */
function take({ sums }: StoreProcess, most: number, amount = 1, limit = LIMIT) {
  const id = `req_${++requests}`;
  return soon(
    sums.reserve(id, [{ ...limit, amount, most }]),
    ({ isGranted, uses: [use] }) => ({ id, isGranted, used: usedOf(use) }),
  );
}

function add({ sums }: StoreProcess, amount: number, sum = DAY): void {
  sums.apply({ additions: [to(sum, amount)] });
}

/** Waits until the additions of all processes have this sum. */
async function untilSum(
  { sums }: StoreProcess,
  wanted: number,
  { table, field }: Sum = DAY,
): Promise<void> {
  await until(
    async () => (await sums.table(table)).get(field) === wanted,
    `a sum of ${wanted}`,
  );
}

/** Waits until the store has a sum and has confirmed it to its process. */
async function untilStored(
  server: StoreServer,
  { sums }: StoreProcess,
  wanted: number,
  { table, field }: Sum = DAY,
): Promise<void> {
  const key = `test:sums:${digestOf(table)}`;
  await until(
    async () =>
      (await server.ask("HGET", key, field)).endsWith(`\r\n${wanted}\r\n`),
    `the store to have ${wanted}`,
  );
  // The reply arrives after the confirmation.
  await sums.table(table);
}

/** Waits until a limit has this use, running requests included. */
async function untilUsed(
  { sums }: StoreProcess,
  wanted: number,
  limit = LIMIT,
): Promise<void> {
  await until(
    async () => usedOf((await sums.uses([limit]))[0]) === wanted,
    `a use of ${wanted}`,
  );
}

testTwo(
  "three processes under load get exactly the requests of a limit, and count every addition",
  async ({ server, one, two }) => {
    await using three = await connectedTo(server);
    const all = [one, two, three];
    let granted = 0;
    const ask = async (process: StoreProcess) => {
      const { id, isGranted, used } = await take(process, 400);
      if (!isGranted) return assert.ok(used >= 400);
      granted += 1;
      // Every third request continues to run.
      if (granted % 3 === 0) return;
      process.sums.apply({
        additions: [to(DAY, 1), to(TOKENS, 7)],
        releases: [{ key: LIMIT.key, id, amount: 1 }],
      });
    };
    for (let wave = 0; wave < 30; wave++) {
      const asking = Array.from({ length: 10 }, () => all.map(ask));
      await Promise.all(asking.flat());
    }
    assert.equal(granted, 400);
    for (const process of all) {
      await untilSum(process, 267);
      await untilSum(process, 267 * 7, TOKENS);
      await untilUsed(process, 400);
    }
  },
);

testStore(
  "a name with half of a surrogate pair is counted, and disturbs no other count",
  async ({ server, one }) => {
    const half = { ...DAY, field: "requests\tone\t\ud83d" };
    add(one, 2, half);
    add(one, 3);
    await untilStored(server, one, 3);
    await untilStored(server, one, 2, {
      ...DAY,
      field: "requests\tone\t\ufffd",
    });
  },
);

testStore(
  "a process sends all counts when it ends, and a new one reads them at once",
  async ({ server, one }) => {
    add(one, 5);
    await one.close();
    await using next = await connectedTo(server);
    const use = { counted: [5], held: 0 };
    assert.deepEqual(await next.sums.uses([LIMIT]), [use]);
    assert.equal(await isGranted(next, 5), false);
  },
);

testTwo(
  "a killed store is reported once, counting continues without it, and it gets the missing counts later",
  async ({ server, one, two }) => {
    const both = [one, two];
    add(one, 3);
    await untilStored(server, one, 3);
    assert.equal((await take(two, 10, 2)).isGranted, true);
    await server.kill();
    for (const process of both) await process.until("away");
    assert.ok(!(take(one, 3) instanceof Promise), "nobody waits");
    assert.equal((await take(one, 10, 4)).isGranted, true);
    add(two, 1);
    await server.restart();
    for (const process of both) await process.until("connected");
    // Its three counts are lost. The running requests and the counts during the outage are kept.
    for (const process of both) await untilUsed(process, 7);
    for (const { log } of both) {
      assert.deepEqual(
        log.entries.map(({ level, event }) => [level, event]),
        [
          ["info", "shared_store_connected"],
          ["warn", "shared_store_away"],
          ["info", "shared_store_connected"],
        ],
      );
      assert.equal(log.entries[1]?.fields.failure, "unreachable");
    }
  },
);

testTwo(
  "a store that returns with an older snapshot loses only its last writes, and gets no more requests than before",
  async ({ server, one, two }) => {
    const both = [one, two];
    add(one, 100);
    await untilStored(server, one, 100);
    await server.ask("SAVE");
    add(one, 30);
    await untilStored(server, one, 130);
    await server.kill();
    for (const process of both) await process.until("away");
    add(two, 4);
    await server.restart();
    for (const process of both) await process.until("connected");
    for (const process of both) await untilSum(process, 104);
    for (let count = 0; count < 20; count++) {
      add(one, 1);
      await untilSum(two, 105 + count);
    }
    const stats = await server.ask("INFO", "commandstats");
    const [, batches] = /cmdstat_evalsha:calls=(\d+)/.exec(stats) ?? [];
    assert.ok(Number(batches) < 60, `${batches} scripts`);
    for (const { log } of both) assert.equal(log.entries.length, 3);
  },
);

testNeeding(
  "a promoted replica of the store loses only the last writes",
  lack,
  async () => {
    await using main = await startStoreServer();
    await using lagging = await startStoreServer();
    await using relay = startTcpRelay(main.port);
    await using one = await connectProcess({ port: relay.port });
    await one.until("connected");
    add(one, 10);
    await untilStored(main, one, 10);
    await lagging.ask("REPLICAOF", "127.0.0.1", String(main.port));
    await until(
      async () => /master_link_status:up/.test(await lagging.ask("INFO")),
      "the replica to have everything",
    );
    await lagging.ask("REPLICAOF", "NO", "ONE");
    add(one, 5);
    await untilStored(main, one, 15);
    relay.reroute(lagging.port);
    await one.until("away");
    add(one, 1);
    await one.until("connected");
    await untilSum(one, 11);
    assert.equal(await isGranted(one, 11), false);
  },
);

testTwo(
  "an emptied store grants its limits again, and never more under concurrent claims",
  async ({ server, one, two }) => {
    const both = [one, two];
    add(one, 450);
    await untilStored(server, one, 450);
    await server.ask("FLUSHALL");
    const asking = Array.from(
      { length: 300 },
      () => both.map((one) => isGranted(one, 500)),
    );
    const granted = (await Promise.all(asking.flat())).filter((one) => one);
    assert.equal(granted.length, 500);
    for (const process of both) await untilUsed(process, 500);
  },
);

testStore(
  "a process that was idle for over a day counts once, however its connection breaks",
  async ({ server, one }) => {
    add(one, 10);
    await untilStored(server, one, 10);
    const keys = (await server.ask("KEYS", "test:batch:*"))
      .match(/test:batch:[0-9a-f]+/g) ?? [];
    assert.ok(keys.length > 0);
    for (const key of keys) await server.ask("DEL", key);
    await server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await one.until("away");
    await one.until("connected");
    add(one, 1);
    await untilSum(one, 11);
    await one.close();
    await using next = await connectedTo(server);
    await untilSum(next, 11);
  },
);

testStore(
  "a connection that breaks under load neither loses nor repeats an addition",
  async ({ server, one }) => {
    for (let count = 0; count < 300; count++) {
      add(one, 3, TOKENS);
      if (count % 100 === 50) {
        await server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await one.until("connected");
    await untilSum(one, 900, TOKENS);
  },
);

testNeeding(
  "a slow store is not used until it is fast again",
  lack,
  async () => {
    await using server = await startStoreServer();
    await using relay = startTcpRelay(server.port);
    await using one = await connectProcess({ port: relay.port, waitMs: 40 });
    await one.until("connected");
    relay.delayMs = 300;
    const granted = await Promise.all([isGranted(one, 9), isGranted(one, 9)]);
    assert.deepEqual(granted, [true, true]);
    await one.until("away");
    assert.equal(await isGranted(one, 9), true);
    assert.deepEqual(one.log.entries.at(-1)?.fields, { failure: "silent" });
    relay.delayMs = 0;
    await one.until("connected");
    await untilUsed(one, 3);
  },
);

const SUMS_KEY = `test:sums:${digestOf(DAY.table)}`;
const HOLDS_KEY = `test:holds:${digestOf(LIMIT.key)}`;

/** States of a store, with the failure that each causes, and the commands that set and undo the state. */
const REFUSALS: readonly (readonly [
  name: string,
  failure: string,
  refuse: string,
  allow: string,
])[] = [
  [
    "has no memory left",
    "exhausted",
    "CONFIG SET maxmemory 1",
    "CONFIG SET maxmemory 0",
  ],
  [
    "allows no HINCRBY",
    "misconfigured",
    "ACL SETUSER default -hincrby",
    "ACL SETUSER default +hincrby",
  ],
  [
    "allows no ZADD",
    "misconfigured",
    "ACL SETUSER default -zadd",
    "ACL SETUSER default +zadd",
  ],
  [
    "has a key of another type",
    "trouble",
    `SET ${SUMS_KEY} x`,
    `DEL ${SUMS_KEY}`,
  ],
  [
    "has holds of another type",
    "trouble",
    `SET ${HOLDS_KEY} x`,
    `DEL ${HOLDS_KEY}`,
  ],
];

for (const [name, failure, refuse, allow] of REFUSALS) {
  testStore(
    `a store that ${name} is away until a command succeeds, even if its probe passes, and is logged once`,
    async ({ server, one }) => {
      const ask = async (command: string) =>
        assert.match(await server.ask(...command.split(" ")), /^(\+OK|:1)/);
      await ask(refuse);
      add(one, 2);
      assert.equal(await isGranted(one, 9), true);
      await one.until("away");
      const probes = async () => {
        const stats = await server.ask("INFO", "commandstats");
        return Number(/cmdstat_script\|load:calls=(\d+)/.exec(stats)?.[1]);
      };
      const before = await probes();
      await until(async () => await probes() >= before + 9, "some more probes");
      assert.equal(one.state.store?.(), "away");
      assert.equal(one.log.entries.length, 2);
      assert.deepEqual(one.log.entries.at(-1)?.fields, { failure });
      await ask(allow);
      await one.until("connected");
      await untilUsed(one, 3);
      assert.equal(one.log.entries.length, 3);
    },
  );
}

/** Asserts that a store still has the sums from before a batch. */
async function assertUntouched(server: StoreServer): Promise<void> {
  for (const field of ["requests", "tokens"]) {
    assert.equal(await server.ask("HGET", SUMS_KEY, field), "$1\r\n0\r\n");
  }
}

testStore(
  "a batch that the store refuses half-way changes nothing, and counts once later",
  async ({ server, one }) => {
    const last = { ...DAY, table: "last of the batch" };
    const key = `test:sums:${digestOf(last.table)}`;
    await server.ask("SET", key, "x");
    one.sums.apply({ additions: [to(DAY, 5), to(TOKENS, -7), to(last, 1)] });
    await one.until("away");
    const table = `test:sums:${digestOf(DAY.table)}`;
    for (const field of ["requests", "tokens"]) {
      assert.equal(await server.ask("HGET", table, field), "$1\r\n0\r\n");
    }
    await server.ask("DEL", key);
    await one.until("connected");
    await untilSum(one, 5);
    await untilSum(one, -7, TOKENS);
    await untilSum(one, 1, last);
  },
);

testStore(
  "a batch whose id the store cannot write changes nothing, and counts once later",
  async ({ server, one }) => {
    const refuse = ["ACL", "SETUSER", "default", "-set"];
    assert.equal(await server.ask(...refuse), "+OK\r\n");
    one.sums.apply({ additions: [to(DAY, 5), to(TOKENS, -7)] });
    await one.until("away");
    await assertUntouched(server);
    await server.ask("ACL", "SETUSER", "default", "+set");
    await one.until("connected");
    await untilSum(one, 5);
    await untilSum(one, -7, TOKENS);
  },
);

testStore(
  "a killed process's holds end within two minutes by the store's own clock",
  async ({ server, one }) => {
    assert.equal(await isGranted(one, 9), true);
    const key = HOLDS_KEY;
    const holds = await server.ask("ZRANGE", key, "0", "-1", "WITHSCORES");
    const [, endsMs] = /(\d{13})/.exec(holds) ?? [];
    const leftMs = Number(endsMs) - Date.now();
    assert.ok(leftMs > 60_000 && leftMs <= 121_000, `${leftMs} ms`);
    // The test moves the end of the two minutes into the past.
    await server.ask("ZADD", key, String(Date.now() - 1), "100 of a dead one");
    await untilUsed(one, 1);
    assert.equal(await server.ask("ZCARD", key), ":1\r\n");
  },
);

/** Settings with which no later attempt can succeed. */
const WRONG_SETTINGS = [
  ["a password for a store without one", { password: "canary-wrong" }],
  ["a user that the store does not know", {
    ...{ username: "canary-user", password: "canary-wrong" },
  }],
  ["a database that the store does not have", { database: 4711 }],
] as const;

testNeeding(
  "a store that rejects the settings is away as misconfigured",
  lack,
  async (t) => {
    await using server = await startStoreServer();
    await steps(t, WRONG_SETTINGS, async ([, settings]) => {
      await using one = await connectProcess({
        ...{ port: server.port, ...settings },
      });
      await until(() => one.log.entries.length > 0, "the log line");
      assert.deepEqual(one.log.entries[0]?.fields, {
        failure: "misconfigured",
      });
      assert.doesNotMatch(JSON.stringify(one.log.entries), /canary/);
    });
  },
);

testNeeding(
  "a wrong password is logged once, without the password, and the process continues to serve",
  lack,
  async () => {
    await using server = await startStoreServer(["--requirepass", "right"]);
    const { port } = server;
    await using one = await connectProcess({ port, password: "canary-wrong" });
    await until(() => one.log.entries.length > 0, "the log line");
    assert.deepEqual(one.log.entries, [{
      level: "warn",
      event: "shared_store_away",
      fields: { failure: "misconfigured" },
    }]);
    assert.equal(await isGranted(one, 1), true);
    assert.equal(await isGranted(one, 1), false);
    await using other = await connectProcess({ port, password: "right" });
    await other.until("connected");
  },
);

testNeeding(
  "a user needs no more rights than scaling.md lists",
  lack,
  async () => {
    await using server = await startStoreServer();
    const page = await Deno.readTextFile(
      new URL("../../../../docs/scaling.md", import.meta.url),
    );
    const [, rules = ""] = /ACL SETUSER gateway (.+)$/m.exec(page) ?? [];
    assert.match(rules, /~model-gateway:\*/);
    const answer = await server.ask(
      ...["ACL", "SETUSER", "gateway"],
      ...rules.replace("PASSWORD", "pass").split(" "),
    );
    assert.equal(answer, "+OK\r\n");
    await using one = await connectProcess({
      port: server.port,
      username: "gateway",
      password: "pass",
      database: 3,
      prefix: "model-gateway:",
    });
    await one.until("connected");
    assert.equal(await isGranted(one, 1), true);
    assert.equal(await isGranted(one, 1), false);
    add(one, 1, TOKENS);
    await untilSum(one, 1, TOKENS);
    assert.equal(await one.sums.once("name", Date.now() + 1000), true);
    assert.match(await server.ask("INFO", "keyspace"), /db3:/);
    assert.equal(one.log.entries.length, 1);
  },
);

testNeeding(
  "a window's counts end with it, and the store drops them an hour later",
  lack,
  async () => {
    await using server = await startStoreServer();
    const clock = createFakeClock(Date.now());
    await using one = await connectProcess({ port: server.port, clock });
    await one.until("connected");
    const window: Sum = { ...DAY, endsAtMs: clock.now() + 60_000 };
    add(one, 1, window);
    await untilStored(server, one, 1, window);
    const keys = await server.ask("KEYS", "test:sums:*");
    const key = /test:sums:[0-9a-f]{32}/.exec(keys)?.[0] ?? "";
    const [, leftMs] = /:(\d+)/.exec(await server.ask("PTTL", key)) ?? [];
    assert.ok(Number(leftMs) > 3_600_000 && Number(leftMs) <= 3_660_000);
    clock.advance(60_000);
    assert.deepEqual(await one.sums.read([window]), [0]);
  },
);

testStore(
  "the history of a token takes at most 4 KB of the store",
  async ({ server, one }) => {
    const counts = {
      ...{ requests: 1200, input: 40_000_000, cached_input: 30_000_000 },
      ...{ cache_write: 3_000_000, output: 900_000, cost: 45_123_456_789 },
    };
    const holder = { kind: "token", name: "alice" } as const;
    const additions = Array.from({ length: HISTORY_DAYS }, (_, day) => {
      const atMs = Date.now() - day * 86_400_000;
      const amounts = dayAmounts(counts, atMs);
      return { ...daysTable(holder, atMs), amounts };
    });
    one.sums.apply({ additions });
    let bytes = 0;
    for (const table of new Set(additions.map(({ table }) => table))) {
      const key = `test:sums:${digestOf(table)}`;
      let size = NaN;
      await until(async () => {
        const reply = await server.ask("MEMORY", "USAGE", key);
        size = Number(/:(\d+)/.exec(reply)?.[1]);
        return size > 0;
      }, `the store to have ${table}`);
      bytes += size;
    }
    assert.ok(bytes <= 4096, `${bytes} bytes`);
  },
);

testNeeding(
  "the keys in the store are a prefix and a digest",
  lack,
  async () => {
    await using server = await startStoreServer();
    await using one = await connectProcess({ port: server.port, prefix: "p:" });
    await one.until("connected");
    await take(one, 1);
    add(one, 1);
    await untilSum(one, 1);
    await one.sums.once("name", Date.now() + 1000);
    const keys = (await server.ask("KEYS", "*")).split("\r\n")
      .filter((line) => line !== "" && !/^[*$]\d/.test(line));
    assert.ok(keys.length > 0);
    for (const key of keys) {
      assert.match(
        key,
        /^p:(probe|since|cool-downs|quotas|(batch|sums|holds|once|quota|lock):[0-9a-f]{32})$/,
      );
    }
  },
);

testStore(
  "a process that ends waits for a while for an absent store, to send its counts",
  async ({ server, one }) => {
    await server.kill();
    await one.until("away");
    add(one, 5);
    const closing = one.close();
    await server.restart();
    await closing;
    const stored = await server.ask("HGET", SUMS_KEY, DAY.field);
    assert.equal(stored, "$1\r\n5\r\n");
  },
);
