import assert from "node:assert/strict";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { readExposition, sumOf } from "../../support/gateway/exposition.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import {
  startStoreServer,
  storeProgram,
  type StoreServer,
} from "../../support/program/store_server.ts";
import {
  type LockedStore,
  startFakeStore,
} from "../../support/upstream/fake_store.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { createClient } from "@redis/client";
import { openTempFolder } from "../../support/temp_folder.ts";
import { until } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";
import { WIRES } from "../../support/wire/wire.ts";

const PASSWORD = "canary-password";

/** Starts a replica in its own process. */
async function serveReplica(
  { port }: StoreServer,
  upstreamUrl: string,
  server: Record<string, unknown> = {},
): Promise<ServedGateway> {
  const url = `redis://:${PASSWORD}@127.0.0.1:${port}`;
  const quota = {
    kind: "json",
    url: `${upstreamUrl}/quota`,
    windows: [{ type: "USAGE_LIMIT", unit: "percent", used: "/used" }],
  };
  return await serveFile(familiesFile(upstreamUrl, {
    server: { port: 0, admin: { port: 0 }, ...server },
    shared: { url },
    tokens: [tokenFile({ limits: [{ window: "month", requests: 25 }] })],
    connections: [familyConnection("A", upstreamUrl, { quota })],
  }));
}

/** Waits until `/readyz` reports this state of the store, on both listeners. */
async function untilStore(
  { url, adminUrl }: ServedGateway,
  condition: string,
): Promise<void> {
  await until(async () => {
    const answers = await Promise.all(
      [url, adminUrl].map((one) => askOnce(`${one}/readyz`)),
    );
    return answers.every(({ status, text }) =>
      status === 200 &&
      text === `{"status":"ok","shared_store":"${condition}"}`
    );
  }, `the store to be ${condition}`);
}

/**
 * Returns the number of the token's requests in this month from `/usage`, and the start of the
 * count.
 */
async function usageOf({ url }: ServedGateway) {
  const { headers = {} } = ask("chat");
  const { text } = await askOnce(`${url}/v1/usage`, { headers });
  const { windows, since } = JSON.parse(text);
  const month = windows.find(
    (one: { window: string }) => one.window === "month",
  );
  return { requests: month.total.requests, since };
}

testNeeding(
  "replicas, with threads or without, enforce a token's limits together and exactly, even across a restart",
  [
    storeProgram === undefined && "there is no Valkey or Redis here",
    Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  ],
  async () => {
    await using upstream = startUpstream(() =>
      Response.json(WIRES.chat.answer)
    );
    await using server = await startStoreServer(["--requirepass", PASSWORD]);
    await using one = await serveReplica(server, upstream.url);
    await using two = await serveReplica(server, upstream.url);
    await using three = await serveReplica(server, upstream.url, {
      workers: 2,
    });
    const all = [one, two, three];
    for (const replica of all) await untilStore(replica, "connected");
    const statuses: number[] = [];
    // One after another, because a replica decides by its own counts if a busy machine delays the store's reply.
    for (let count = 0; count < 36; count++) {
      const { url } = all[count % all.length] ?? one;
      statuses.push((await askOnce(url + PATHS.chat, ask("chat"))).status);
    }
    assert.equal(statuses.filter((status) => status === 200).length, 25);
    assert.equal(statuses.filter((status) => status === 429).length, 11);
    for (const replica of all) {
      await until(
        async () => (await usageOf(replica)).requests === 25,
        "every replica to count all requests",
      );
    }
    for (const replica of all) replica.kill("SIGTERM");
    for (const replica of all) await replica.ended;
    const restartedAt = new Date().toISOString();
    await using next = await serveReplica(server, upstream.url);
    await untilStore(next, "connected");
    await until(async () => {
      const usage = await usageOf(next);
      return usage.requests === 25 && usage.since < restartedAt;
    }, "the counts of before");
    const { status } = await askOnce(next.url + PATHS.chat, ask("chat"));
    assert.equal(status, 429);
  },
);

testNeeding(
  "replicas, with threads or without, share quotas and cool-downs through a store, and serve without it",
  [
    storeProgram === undefined && "there is no Valkey or Redis here",
    Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  ],
  async () => {
    await using upstream = startUpstream(({ path }) =>
      path === "/quota"
        ? Response.json({ used: 40 })
        : new Response(null, { status: 429, headers: { "retry-after": "60" } })
    );
    const asked = (path: RegExp) =>
      upstream.requests.items.filter((seen) => path.test(seen.path)).length;
    await using server = await startStoreServer(["--requirepass", PASSWORD]);
    await using one = await serveReplica(server, upstream.url);
    await using two = await serveReplica(server, upstream.url, { workers: 2 });
    const both = [one, two];
    for (const replica of both) await untilStore(replica, "connected");

    const { status } = await askOnce(one.url + PATHS.chat, ask("chat"));
    assert.equal(status, 429);
    await until(
      async () =>
        (await askOnce(two.url + PATHS.chat, ask("chat"))).status === 503,
      "the other replica to know",
    );
    // Another thread may receive a request before it knows of the cool-down.
    assert.ok(asked(/chat/) <= 3);

    const headers = ask("chat").headers ?? {};
    for (const replica of [one, two, two]) {
      const { text } = await askOnce(`${replica.url}/v1/limits`, { headers });
      assert.equal(JSON.parse(text).data[0].limits[0].used, 40);
    }
    assert.equal(asked(/quota/), 1);

    const metric = async ({ adminUrl }: ServedGateway) => {
      const { text } = await askOnce(`${adminUrl}/metrics`);
      return sumOf(
        readExposition(text),
        "model_gateway_shared_store_connected",
      );
    };
    for (const replica of both) assert.equal(await metric(replica), 1);
    await server.kill();
    for (const replica of both) {
      await untilStore(replica, "away");
      assert.equal(await metric(replica), 0);
    }
    const answer = await askOnce(`${one.url}/v1/limits`, { headers });
    assert.equal(answer.status, 200);
    await server.restart();
    for (const replica of both) {
      await untilStore(replica, "connected");
      // A busy machine may also delay the store before that.
      const failures = replica.lines("shared_store_away")
        .map(({ failure }) => failure)
        .filter((failure) => failure !== "silent");
      assert.deepEqual(failures, ["unreachable"]);
      await until(
        () => replica.lines("shared_store_connected").length >= 2,
        "the log to say so",
      );
      assert.doesNotMatch(replica.output(), /canary/);
      replica.kill("SIGTERM");
      assert.equal((await replica.ended).code, 0);
    }
  },
);

/** Starts this machine's Valkey or Redis with a password. */
async function startLockedServer(first: string): Promise<LockedStore> {
  const server = await startStoreServer(["--requirepass", first]);
  let password = first;
  async function admin(...command: readonly string[]): Promise<void> {
    const client = createClient({ url: server.url, password });
    client.on("error", () => {});
    await client.connect();
    await client.sendCommand([...command]).finally(() => client.destroy());
  }
  return {
    url: server.url,
    async changePassword(next) {
      await admin("CONFIG", "SET", "requirepass", next);
      password = next;
      await admin("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Stores with a password, and the reason why one cannot start here. */
const LOCKED_STORES = {
  "Valkey or Redis": {
    start: startLockedServer,
    lack: storeProgram === undefined && "there is no Valkey or Redis here",
  },
  "a store of the test": { start: startFakeStore, lack: false },
} as const;

for (const [store, { start, lack }] of Object.entries(LOCKED_STORES)) {
  testNeeding(
    `a new password of ${store} takes effect without a restart, and a wrong one is reported as such`,
    lack,
    () => testPassword(start),
  );
}

async function testPassword(
  start: (password: string) => LockedStore | Promise<LockedStore>,
): Promise<void> {
  await using folder = await openTempFolder();
  const secret = `${folder.path}/password`;
  await Deno.writeTextFile(secret, PASSWORD);
  await using upstream = startUpstream(() => Response.json(WIRES.chat.answer));
  await using store = await start(PASSWORD);
  const serve = () =>
    serveFile(familiesFile(upstream.url, {
      server: { port: 0, admin: { port: 0 } },
      shared: { url: store.url, password_file: secret },
    }));
  await using replica = await serve();
  await untilStore(replica, "connected");

  // If the file changes first, the authenticated connection to the store stays.
  await Deno.writeTextFile(secret, "canary-second");
  await until(
    () => replica.lines("config_applied").length === 1,
    "the file to be read",
  );
  await untilStore(replica, "connected");
  await store.changePassword("canary-second");
  await until(
    () => replica.lines("shared_store_connected").length === 2,
    "the store to accept the second password",
  );

  // If the store changes first, the log names the problem until a person writes the file.
  await store.changePassword("canary-third");
  const lastFailure = ({ lines }: ServedGateway) =>
    lines("shared_store_away").at(-1)?.failure;
  await until(
    () => lastFailure(replica) === "misconfigured",
    "the log to name the reason",
  );
  await using late = await serve();
  await until(
    () => late.lines("shared_store_away").length > 0,
    "a gateway that starts with a wrong password to log it",
  );
  assert.equal(lastFailure(late), "misconfigured");
  await Deno.writeTextFile(secret, "canary-third");
  for (const one of [replica, late]) {
    await untilStore(one, "connected");
    assert.deepEqual(
      one.lines("config_applied").flatMap((line) => line.warnings ?? []),
      [],
    );
    assert.doesNotMatch(one.output(), /canary/);
  }
}
