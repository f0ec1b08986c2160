import assert from "node:assert/strict";
import type { Sum } from "../../../src/usage/sums.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import {
  connectProcess,
  type StoreProcess,
} from "../../support/gateway/store_process.ts";
import {
  startStoreServer,
  storeProgram,
} from "../../support/program/store_server.ts";
import { startTcpRelay } from "../../support/upstream/tcp_relay.ts";
import { until } from "../../support/within.ts";
import { needing } from "../../support/ignored.ts";

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

const DAY: Sum = {
  table: "limits\tday\t1767225600\ttoken\talice",
  field: "requests",
  endsAtMs: Date.now() + 86_400_000,
};
const TOKENS: Sum = { ...DAY, field: "tokens" };

function take({ sums }: StoreProcess, most: number, amount = 1, sum = DAY) {
  return sums.reserve([{ sum, amount, most }]);
}

/** Waits until what all have added together is so much. */
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

Deno.test({
  ...needing(
    "three processes under load together get exactly what a limit allows, and count every addition",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    const { port } = server;
    await using one = await connectProcess({ port });
    await using two = await connectProcess({ port });
    await using three = await connectProcess({ port });
    const all = [one, two, three];
    for (const process of all) await process.until("connected");
    let granted = 0;
    const ask = async (process: StoreProcess) => {
      const refused = await take(process, 400);
      if (refused === undefined) granted += 1;
      else assert.ok(refused.used >= 400);
      process.sums.add([{ sum: TOKENS, amount: 7 }]);
    };
    for (let wave = 0; wave < 30; wave++) {
      const asking = Array.from({ length: 10 }, () => all.map(ask));
      await Promise.all(asking.flat());
    }
    assert.equal(granted, 400);
    for (const process of all) {
      await untilSum(process, 400);
      await untilSum(process, 900 * 7, TOKENS);
    }
  },
});

Deno.test({
  ...needing(
    "counts survive a process that ends, which leaves nothing unsent, and are there for the next",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    await using one = await connectProcess({ port: server.port });
    await one.until("connected");
    one.sums.add([{ sum: DAY, amount: 5 }]);
    await one.close();
    await using next = await connectProcess({ port: server.port });
    await next.until("connected");
    await untilSum(next, 5);
    assert.notEqual(await take(next, 5), undefined);
  },
});

Deno.test({
  ...needing(
    "a store that is killed is said to be away once, counted on without, and given everything when it is back",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    const { port } = server;
    await using one = await connectProcess({ port });
    await using two = await connectProcess({ port });
    const both = [one, two];
    for (const process of both) await process.until("connected");
    assert.equal(await take(one, 10, 3), undefined);
    assert.equal(await take(two, 10, 2), undefined);
    await server.kill();
    for (const process of both) await process.until("away");
    assert.ok(!(take(one, 3) instanceof Promise), "nobody waits");
    assert.equal(take(one, 10, 4), undefined);
    two.sums.add([{ sum: DAY, amount: 1 }]);
    await server.restart();
    for (const process of both) await process.until("connected");
    for (const process of both) await untilSum(process, 10);
    assert.notEqual(await take(two, 10), undefined);
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
});

Deno.test({
  ...needing(
    "a connection that breaks under load loses no addition and doubles none",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    await using one = await connectProcess({ port: server.port });
    await one.until("connected");
    for (let count = 0; count < 300; count++) {
      one.sums.add([{ sum: TOKENS, amount: 3 }]);
      if (count % 100 === 50) {
        await server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await one.until("connected");
    await untilSum(one, 900, TOKENS);
  },
});

Deno.test({
  ...needing(
    "a store that is slow is left alone, and asked again when it is not",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    await using relay = startTcpRelay(server.port);
    await using one = await connectProcess({ port: relay.port, waitMs: 40 });
    await one.until("connected");
    relay.delayMs = 300;
    const granted = await Promise.all([take(one, 9), take(one, 9)]);
    assert.deepEqual(granted, [undefined, undefined]);
    await one.until("away");
    assert.equal(take(one, 9), undefined);
    assert.deepEqual(one.log.entries.at(-1)?.fields, { failure: "slow" });
    relay.delayMs = 0;
    await one.until("connected");
    await untilSum(one, 3);
  },
});

Deno.test({
  ...needing(
    "a store without memory is told nothing, and everything when it has some again",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    await using one = await connectProcess({ port: server.port });
    await one.until("connected");
    assert.equal(await take(one, 9), undefined);
    await server.ask("CONFIG", "SET", "maxmemory", "1");
    assert.equal(await take(one, 2), undefined);
    await one.until("away");
    assert.deepEqual(one.log.entries.at(-1)?.fields, { failure: "full" });
    assert.notEqual(take(one, 2), undefined);
    await server.ask("CONFIG", "SET", "maxmemory", "0");
    await one.until("connected");
    await untilSum(one, 2);
  },
});

Deno.test({
  ...needing(
    "a wrong password is said once, without the password, and the process serves on",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer(["--requirepass", "right"]);
    const { port } = server;
    await using one = await connectProcess({ port, password: "canary-wrong" });
    await until(() => one.log.entries.length > 0, "the log line");
    assert.deepEqual(one.log.entries, [{
      level: "warn",
      event: "shared_store_away",
      fields: { failure: "refused" },
    }]);
    assert.equal(take(one, 1), undefined);
    assert.notEqual(take(one, 1), undefined);
    await using other = await connectProcess({ port, password: "right" });
    await other.until("connected");
  },
});

Deno.test({
  ...needing("a user needs no more rights than operations.md says", lack),
  async fn() {
    await using server = await startStoreServer();
    const page = await Deno.readTextFile(
      new URL("../../../docs/operations.md", import.meta.url),
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
    assert.equal(await take(one, 1), undefined);
    assert.notEqual(await take(one, 1), undefined);
    await untilSum(one, 1);
    assert.match(await server.ask("INFO", "keyspace"), /db3:/);
    assert.equal(one.log.entries.length, 1);
  },
});

Deno.test({
  ...needing(
    "what a window counted is gone at its end, and the store drops it an hour later",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer();
    const clock = createFakeClock(Date.now());
    await using one = await connectProcess({ port: server.port, clock });
    await one.until("connected");
    const window: Sum = { ...DAY, endsAtMs: clock.now() + 60_000 };
    assert.equal(await take(one, 1, 1, window), undefined);
    assert.notEqual(await take(one, 1, 1, window), undefined);
    const keys = await server.ask("KEYS", "test:sums:*");
    const key = /test:sums:[0-9a-f]{32}/.exec(keys)?.[0] ?? "";
    const [, leftMs] = /:(\d+)/.exec(await server.ask("PTTL", key)) ?? [];
    assert.ok(Number(leftMs) > 3_600_000 && Number(leftMs) <= 3_660_000);
    clock.advance(60_000);
    assert.deepEqual(one.sums.read([window]), [0]);
    const next = { ...window, table: "next", endsAtMs: clock.now() + 60_000 };
    assert.equal(await take(one, 1, 1, next), undefined);
  },
});

Deno.test({
  ...needing("keys are digests behind the prefix", lack),
  async fn() {
    await using server = await startStoreServer();
    await using one = await connectProcess({ port: server.port, prefix: "p:" });
    await one.until("connected");
    assert.equal(await take(one, 1), undefined);
    const keys = (await server.ask("KEYS", "*")).split("\r\n")
      .filter((line) => line !== "" && !/^[*$]\d/.test(line));
    assert.ok(keys.length > 0);
    for (const key of keys) {
      assert.match(
        key,
        /^p:(probe|name|cool-downs|quotas|batch:replica_[0-9a-f]{32}:\d+|(sums|quota|lock):[0-9a-f]{32})$/,
      );
    }
  },
});
