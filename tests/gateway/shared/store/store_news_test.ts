import assert from "node:assert/strict";
import type {
  Config,
  Connection,
} from "../../../../src/gateway/config/config.ts";
import { digestOf } from "../../../../src/base/sha256.ts";
import type { Reading } from "../../../../src/gateway/quotas/reading.ts";
import { QuotaFailure } from "../../../../src/gateway/quotas/failure.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import {
  connectProcess,
  type StoreProcess,
} from "../../../support/gateway/store_process.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../../support/gateway/config.ts";
import {
  startStoreServer,
  storeProgram,
  type StoreServer,
} from "../../../support/program/store_server.ts";
import { until } from "../../../support/within.ts";
import { windowOf } from "../../quotas/quota_case.ts";
import { testNeeding } from "../../../support/ignored.ts";
import { fromFileUrl } from "../../../support/program/paths.ts";
import { testCertificate } from "../../../support/upstream/test_certificate.ts";

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

const NEVER = new AbortController().signal;

const READING: Reading = {
  checkedAtMs: 1_767_225_600_000,
  windows: [windowOf("USAGE_LIMIT five_hour percent 100 7 93 7")],
};

/** Opens replicas with one configuration. Some may have another one. */
async function replicas(
  server: StoreServer,
  ...configs: readonly Config[]
): Promise<readonly [StoreProcess, StoreProcess, Connection]> {
  const config = await minimalConfig({ tokens: [tokenFile()] });
  const [first = config, second = config] = configs;
  const { port } = server;
  const one = await connectProcess({ port, config: first });
  const two = await connectProcess({ port, config: second });
  for (const process of [one, two]) await process.until("connected");
  const [connection] = config.connections;
  assert.ok(connection);
  return [one, two, connection];
}

/** Tests two replicas with one configuration and one store. */
function testReplicas(
  name: string,
  fn: (scene: {
    readonly server: StoreServer;
    readonly one: StoreProcess;
    readonly two: StoreProcess;
    readonly connection: Connection;
  }) => Promise<void>,
): void {
  testNeeding(name, lack, async () => {
    await using server = await startStoreServer();
    const [one, two, connection] = await replicas(server);
    await fn({ server, one, two, connection });
    for (const process of [one, two]) await process.close();
  });
}

function coolDown(
  connection: Connection,
  rest: Partial<Extract<Notice, { kind: "cool_down" }>> = {},
): Extract<Notice, { kind: "cool_down" }> {
  return {
    kind: "cool_down",
    connectionId: connection.id,
    model: "model-a",
    token: digestOf("alice"),
    ms: 600_000,
    requestedMs: 7_200_000,
    cause: { kind: "quota", status: 402 },
    ...rest,
  };
}

testReplicas(
  "replicas receive another one's cool-downs, and those that start later receive the rest",
  async ({ server, one, two, connection }) => {
    const seen = coolDown(connection, { probe: "begun" });
    one.state.notices?.publish(seen);
    await until(() => two.heard.length === 1, "the cool-down");
    await using late = await connectProcess({ port: server.port });
    await until(() => late.heard.length === 1, "the cool-down");
    for (const { heard: [notice] } of [two, late]) {
      assert.ok(notice?.kind === "cool_down");
      const { ms, requestedMs = 0, ...rest } = notice;
      const { ms: toldMs, requestedMs: toldRequestedMs = 0, ...toldRest } =
        seen;
      assert.deepEqual(rest, toldRest);
      assert.ok(ms <= toldMs && ms > toldMs - 60_000, String(ms));
      assert.equal(
        Math.round(toldRequestedMs - requestedMs),
        Math.round(toldMs - ms),
      );
    }
    assert.deepEqual(one.heard, []);
    const stream = await server.ask("XRANGE", "test:cool-downs", "-", "+");
    assert.match(stream, /"model":"model-a"/);
    assert.doesNotMatch(stream, /alice/);
  },
);

testReplicas(
  "replicas receive another one's lessons, and ignore invalid ones",
  async ({ one, two, connection }) => {
    const ms = 86_400_000;
    const taught = (move: "omit", field: string) => ({
      kind: "lesson" as const,
      ...{ connectionId: connection.id, model: "model-a", ms },
      token: digestOf("alice"),
      lesson: { move, field, words: [] },
    });
    const publish = (field: string) =>
      one.state.notices?.publish(taught("omit", field));
    publish("messages");
    publish("temperature");
    await until(() => two.heard.length === 1, "the lesson");
    const [notice] = two.heard;
    assert.ok(notice?.kind === "lesson");
    assert.deepEqual({ ...notice, ms }, taught("omit", "temperature"));
    assert.ok(notice.ms > ms - 60_000, String(notice.ms));
  },
);

testReplicas(
  "replicas receive the cool-down of a caller of an identity provider",
  async ({ one, two, connection }) => {
    const token = digestOf("zoë (https://login.example.com)");
    one.state.notices?.publish(coolDown(connection, { token }));
    await until(() => two.heard.length === 1, "the cool-down");
    const [notice] = two.heard;
    assert.ok(notice?.kind === "cool_down");
    assert.equal(notice.token, token);
  },
);

testReplicas(
  "notices from an outage of the store are published after it, unless they have expired",
  async ({ server, one, two, connection }) => {
    await server.kill();
    await one.until("away");
    const short = coolDown(connection, { ms: 1, token: undefined });
    one.state.notices?.publish(short);
    one.state.notices?.publish(coolDown(connection));
    await server.restart();
    await until(() => two.heard.length > 0, "the cool-down");
    assert.deepEqual(
      two.heard.map((notice) => notice.kind === "cool_down" && notice.token),
      [digestOf("alice")],
    );
  },
);

testNeeding(
  "a replica ignores notices of unknown connections, and of one with another key",
  lack,
  async () => {
    await using server = await startStoreServer();
    const auth = { scheme: "bearer", key: "another-key" };
    const other = await minimalConfig({
      connections: [
        connectionFile({ auth }),
        connectionFile({ name: "b", models: ["b"] }),
      ],
      tokens: [tokenFile()],
    });
    const own = await minimalConfig();
    const [one, two, connection] = await replicas(server, own, other);
    assert.equal(other.connections[0]?.id, connection.id);
    one.state.notices?.publish(coolDown(connection));
    const nonsense = ["*", "from", "x", "notice", "{]"];
    await server.ask("XADD", "test:cool-downs", ...nonsense);
    const known = other.connections[1];
    assert.ok(known);
    two.state.notices?.publish(coolDown(known));
    const three = await connectProcess({ port: server.port, config: other });
    await until(() => three.heard.length > 0, "the last cool-down");
    assert.equal(three.heard.length, 1);
    assert.deepEqual(two.heard, []);
    for (const process of [one, two, three]) await process.close();
  },
);

testReplicas(
  "one of several replicas reads a quota, and the others get its reading",
  async ({ one, two, connection }) => {
    const first = await one.state.sharedReadings?.find(connection, NEVER);
    assert.equal(first, undefined);
    const waiting = two.state.sharedReadings?.find(connection, NEVER);
    const read = { reading: READING, ttlMs: 60_000 };
    one.state.sharedReadings?.publish(connection, read);
    const found = await waiting;
    assert.deepEqual(found?.reading, READING);
    assert.ok(found.ttlMs > 0 && found.ttlMs <= 60_000);
    await until(() => two.heard.length > 0, "the notice");
    const [notice] = two.heard;
    assert.ok(notice?.kind === "polled");
    assert.deepEqual(notice.reading, READING);
  },
);

testReplicas(
  "another replica reads a quota if the first cannot reach the provider",
  async ({ one, two, connection }) => {
    await one.state.sharedReadings?.find(connection, NEVER);
    const waiting = two.state.sharedReadings?.find(connection, NEVER);
    const failure = new QuotaFailure("unreachable", "canary");
    one.state.sharedReadings?.publish(connection, {
      reading: { checkedAtMs: 0, failure },
      ttlMs: 10_000,
    });
    assert.equal(await waiting, undefined);
  },
);

testReplicas(
  "a wait for another replica's reading ends with its signal, and no request waits for an absent store",
  async ({ server, one, two, connection }) => {
    await one.state.sharedReadings?.find(connection, NEVER);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = two.state.sharedReadings?.find(connection, signal);
    controller.abort();
    assert.equal(await waiting, undefined);
    await server.kill();
    await two.until("away");
    const found = await two.state.sharedReadings?.find(connection, NEVER);
    assert.equal(found, undefined);
  },
);

testReplicas(
  "a quota in headers is published at most once in five seconds",
  async ({ one, two, connection }) => {
    const { id: connectionId } = connection;
    for (const used of [1, 2, 3]) {
      one.state.notices?.publish({
        kind: "harvested",
        connectionId,
        reading: { ...READING, checkedAtMs: used },
      });
    }
    one.state.notices?.publish(coolDown(connection));
    await until(
      () => two.heard.some(({ kind }) => kind === "cool_down"),
      "all",
    );
    const harvested = two.heard.filter(({ kind }) => kind === "harvested");
    assert.equal(harvested.length, 1);
  },
);

testReplicas(
  "replicas receive the connections of conversations, and those that start later receive the remaining time",
  async ({ server, one, two, connection }) => {
    const placed = {
      kind: "placed",
      connectionId: connection.id,
      conversation: "session 0a",
      model: "model-a",
      ms: 4_200_000,
    } as const;
    one.state.notices?.publish(placed);
    await until(() => two.heard.length === 1, "the conversation");
    await using late = await connectProcess({ port: server.port });
    await until(() => late.heard.length === 1, "the conversation");
    for (const { heard: [notice] } of [two, late]) {
      assert.ok(notice?.kind === "placed");
      const { ms, ...rest } = notice;
      assert.deepEqual({ ...rest, ms: placed.ms }, placed);
      assert.ok(ms <= placed.ms && ms > placed.ms - 60_000, String(ms));
    }
    const stream = await server.ask("XRANGE", "test:conversations", "-", "+");
    assert.doesNotMatch(stream, new RegExp(connection.id));
    await server.kill();
    await one.until("away");
    one.state.notices?.publish(placed);
    one.state.notices?.publish(coolDown(connection));
    await server.restart();
    await until(
      () => two.heard.some(({ kind }) => kind === "cool_down"),
      "the cool-down",
    );
    assert.equal(two.heard.filter(({ kind }) => kind === "placed").length, 1);
  },
);

const FOLDER = new URL("../../../fixtures/tls/", import.meta.url);
const pathOf = (name: string) => fromFileUrl(new URL(name, FOLDER));

testNeeding(
  "a store is reached with TLS only if its certificate is trusted",
  lack,
  async () => {
    await using server = await startStoreServer([
      ...["--tls-auth-clients", "no"],
      ...["--tls-cert-file", pathOf("cert.pem")],
      ...["--tls-key-file", pathOf("key.pem")],
    ], { isTls: true });
    const { port } = server;
    const local = { port, tls: true, host: "localhost" };
    const ca = testCertificate.cert;
    await using good = await connectProcess({ ...local, ca });
    await good.until("connected");
    await using strange = await connectProcess(local);
    await until(() => strange.log.entries.length > 0, "the log line");
    const [line] = strange.log.entries;
    assert.deepEqual(line?.fields, { failure: "unreachable" });
    assert.equal(strange.state.store?.(), "away");
  },
);
