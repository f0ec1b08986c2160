import assert from "node:assert/strict";
import { startPool } from "../../../../src/gateway/process/threads/pool.ts";
import { createThreadCounts } from "../../../../src/gateway/shared/thread_counts.ts";
import type { ServerConfig } from "../../../../src/gateway/config/config.ts";
import type { Serving } from "../../../../src/gateway/process/serving.ts";
import type {
  Order,
  Report,
  StartThread,
} from "../../../../src/gateway/process/threads/messages.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../../src/gateway/config/live_config.ts";
import { formatExposition } from "../../../../src/gateway/observe/exposition.ts";
import { createGatewayMetrics } from "../../../../src/gateway/observe/prometheus.ts";
import type { Call } from "../../../../src/gateway/shared/main_thread.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../../support/gateway/config.ts";
import { until } from "../../../support/within.ts";
import { readExposition, sumOf } from "../../../support/gateway/exposition.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../../support/fakes/fake_timers.ts";
import { settle } from "../../../support/settle.ts";

/** A thread that the test controls. */
interface FakeThread {
  readonly orders: Order[];
  readonly report: (report: Report) => void;
  ended: boolean;
}

interface Scene {
  readonly threads: FakeThread[];
  readonly timers: FakeTimers;
  readonly liveConfig: LiveConfig;
  readonly lines: Record<string, unknown>[];
  readonly written: string[];
  /** The addresses that the main thread requested. Each answers with a quota. */
  readonly asked: string[];
  /** The response of every address. */
  readonly answer: object;
  start(): Promise<Serving>;
}

const NEVER = new Promise<void>(() => {});

/** Opens a pool of two threads. Each listens at once, unless `onStart` does something else. */
async function createScene(
  onStart = (thread: FakeThread) =>
    thread.report({ kind: "listening", url: "http://127.0.0.1:4000" }),
  tls?: ServerConfig["tls"],
): Promise<Scene> {
  const threads: FakeThread[] = [];
  const timers = createFakeTimers();
  const lines: Scene["lines"] = [];
  const written: string[] = [];
  const asked: string[] = [];
  const answer = { used: 40, limit: 100 };
  const server = { port: 0, drain_seconds: 10, max_concurrent_requests: 100 };
  const config = await minimalConfig({ server });
  const liveConfig = createLiveConfig(config);
  const startThread: StartThread = (report) => {
    const thread: FakeThread = { orders: [], report, ended: false };
    threads.push(thread);
    return {
      send(order) {
        thread.orders.push(order);
        if (order.kind === "start") queueMicrotask(() => onStart(thread));
      },
      end() {
        thread.ended = true;
      },
    };
  };
  return {
    threads,
    timers,
    liveConfig,
    lines,
    written,
    asked,
    answer,
    start: () =>
      startPool({
        liveConfig,
        server: { ...config.server, tls },
        workers: 2,
        fetch(url) {
          asked.push(url);
          return Promise.resolve(Response.json(answer));
        },
        startThread,
        timers,
        format: "json",
        log: {
          write: (event, fields) => void lines.push({ event, ...fields }),
        },
        write: (text) => written.push(text),
      }),
  };
}

function kinds({ orders }: FakeThread | undefined = NO_THREAD): string[] {
  return orders.map(({ kind }) => kind);
}

const NO_THREAD: FakeThread = { orders: [], report() {}, ended: false };

function startOf(thread: FakeThread | undefined) {
  const [order] = thread?.orders ?? [];
  assert.ok(order?.kind === "start");
  return order;
}

Deno.test("the pool is ready when every thread listens on the first thread's port", async () => {
  const { threads, start } = await createScene();
  const pool = await start();
  assert.equal(pool.url, "http://127.0.0.1:4000");
  assert.equal(pool.workers, 2);
  assert.ok(pool.isReady());
  assert.equal(startOf(threads[0]).server.port, 0);
  assert.equal(startOf(threads[1]).server.port, 4000);
});

Deno.test("all threads count together against the whole limits", async () => {
  const { threads, start } = await createScene();
  await start();
  const counts = threads.map((thread) => {
    const { config, share } = startOf(thread);
    assert.equal(config.server.maxConcurrentRequests, 100);
    return createThreadCounts(share).running.requests;
  });
  for (let count = 0; count < 100; count++) {
    assert.ok(counts[count % 2]?.add(100));
  }
  assert.ok(counts.every((one) => !one.add(100)));
  counts[0]?.remove();
  assert.ok(counts[1]?.add(100));
});

Deno.test("a thread that dies releases its counts, even those from its last moments", async () => {
  const { threads, timers, start } = await createScene();
  await start();
  const requestsOf = (thread: FakeThread | undefined) =>
    createThreadCounts(startOf(thread).share).running.requests;
  const dying = requestsOf(threads[1]);
  assert.ok(dying.add(1));
  assert.ok(!requestsOf(threads[0]).add(1));
  threads[1]?.report({ kind: "died", error: "TypeError" });
  assert.ok(requestsOf(threads[0]).add(1));
  requestsOf(threads[0]).remove();
  assert.ok(dying.add(1));
  timers.advance(1_000);
  assert.ok(requestsOf(threads[2]).add(1));
});

Deno.test("the start fails and ends every thread when one thread cannot listen", async () => {
  const { threads, timers, start } = await createScene((thread) =>
    thread.report(
      startOf(thread).server.port === 0
        ? { kind: "listening", url: "http://127.0.0.1:4000" }
        : { kind: "refused", message: "Cannot listen" },
    )
  );
  await assert.rejects(start(), {
    name: "ListenError",
    message: "Cannot listen",
  });
  assert.ok(threads.every(({ ended }) => ended));
  assert.equal(timers.running, 0);
});

Deno.test("the start fails when a thread dies before it listens", async () => {
  const { start, lines } = await createScene((thread) =>
    thread.report({ kind: "died", error: "TypeError" })
  );
  await assert.rejects(start(), /before it listened \(TypeError\)/);
  assert.deepEqual(lines, []);
});

Deno.test("a dead thread is logged and replaced, after growing pauses while its replacements die too", async () => {
  const { threads, timers, start, lines } = await createScene();
  const pool = await start();
  const pauses = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
  for (const [index, pauseMs] of pauses.entries()) {
    threads.at(-1)?.report({ kind: "died", error: "TypeError" });
    assert.ok(threads.at(-1)?.ended);
    assert.ok(pool.isReady(), "the other thread serves on");
    timers.advance(pauseMs - 1);
    assert.equal(threads.length, 2 + index);
    timers.advance(1);
    assert.equal(threads.length, 3 + index);
    assert.equal(startOf(threads.at(-1)).server.port, 4000);
    await settle();
  }
  assert.equal(pool.replacements(), pauses.length);
  assert.deepEqual(lines[0], {
    event: "worker_died",
    worker: 2,
    exception: "TypeError",
    retry_ms: 1_000,
  });
});

Deno.test("a thread that dies after a long time is replaced after a short pause", async () => {
  const { threads, timers, start, lines } = await createScene();
  await start();
  for (const livedMs of [0, 60_000]) {
    timers.advance(livedMs);
    threads.at(-1)?.report({ kind: "died", error: "TypeError" });
    timers.advance(1_000);
    await settle();
  }
  assert.deepEqual(lines.map(({ retry_ms }) => retry_ms), [1_000, 1_000]);
  assert.equal(threads.length, 4);
});

Deno.test("a dead thread's reports are ignored", async () => {
  const { threads, start, lines, written } = await createScene();
  await start();
  threads[1]?.report({ kind: "died", error: "TypeError" });
  threads[1]?.report({ kind: "died", error: "TypeError" });
  threads[1]?.report({ kind: "log", text: "late\n" });
  assert.equal(lines.length, 1);
  assert.deepEqual(written, []);
});

Deno.test("every thread and the replacement of a dead thread get a new configuration", async () => {
  const { threads, timers, liveConfig, start } = await createScene();
  await start();
  const tokens = [tokenFile({ name: "bob" })];
  liveConfig.swap(await minimalConfig({ tokens }));
  for (const thread of threads) {
    const order = thread.orders.at(-1);
    assert.ok(order?.kind === "config");
    const [caller] = order.config.callers.values();
    assert.equal(caller?.name, "bob");
  }
  threads[0]?.report({ kind: "died", error: "TypeError" });
  timers.advance(1_000);
  const [caller] = startOf(threads[2]).config.callers.values();
  assert.equal(caller?.name, "bob");
});

Deno.test("the replacement of a dead thread gets the current certificate", async () => {
  const tls = { cert: "old", key: "old" };
  const { threads, timers, liveConfig, start } = await createScene(
    undefined,
    tls,
  );
  await start();
  const config = liveConfig.current();
  const renewed = { cert: "new", key: "new" };
  liveConfig.swap({ ...config, server: { ...config.server, tls: renewed } });
  threads[1]?.report({ kind: "died", error: "TypeError" });
  timers.advance(1_000);
  assert.deepEqual(startOf(threads[1]).server.tls, tls);
  assert.deepEqual(startOf(threads[2]).server.tls, renewed);
});

Deno.test("stop() drains every thread and waits for all", async () => {
  const { threads, timers, start } = await createScene();
  const pool = await start();
  let stopped = false;
  const stopping = pool.stop(NEVER).then(() => stopped = true);
  assert.equal(pool.isReady(), false);
  assert.ok(threads.every((thread) => kinds(thread).at(-1) === "stop"));
  threads[0]?.report({ kind: "stopped" });
  await settle();
  assert.equal(stopped, false);
  threads[1]?.report({ kind: "stopped" });
  await stopping;
  assert.ok(threads.every(({ ended }) => ended));
  assert.equal(timers.running, 0);
});

Deno.test("stop() asks every thread to hurry when the given promise resolves", async () => {
  const { threads, start } = await createScene();
  const pool = await start();
  const stopping = pool.stop(Promise.resolve());
  await settle();
  assert.ok(threads.every((thread) => kinds(thread).at(-1) === "hurry"));
  for (const thread of threads) thread.report({ kind: "stopped" });
  await stopping;
});

Deno.test("stop() does not wait for hanging or dead threads, and replaces none", async () => {
  const { threads, timers, start } = await createScene();
  const pool = await start();
  threads[0]?.report({ kind: "died", error: "TypeError" });
  const stopping = pool.stop(NEVER);
  timers.advance(12_999);
  assert.equal(threads[1]?.ended, false);
  timers.advance(1);
  await stopping;
  assert.equal(threads[1]?.ended, true);
  assert.equal(threads.length, 2);
  assert.equal(timers.running, 0);
});

/** Returns the notices of other threads that a thread received. */
function noticesOf({ orders }: FakeThread | undefined = NO_THREAD): Notice[] {
  return orders.flatMap((order) =>
    order.kind === "notice" ? [order.notice] : []
  );
}

Deno.test("a notice of one thread reaches only the other threads", async () => {
  const { threads, start } = await createScene();
  await start();
  const notice: Notice = {
    kind: "cool_down",
    connectionId: "main",
    token: "alice",
    ms: 1000,
  };
  threads[0]?.report({ kind: "notice", notice });
  assert.deepEqual(noticesOf(threads[0]), []);
  assert.deepEqual(noticesOf(threads[1]), [notice]);
});

Deno.test("a quota that several threads need is read once for all of them", async () => {
  const { threads, start, liveConfig, asked } = await createScene();
  const url = "https://quota.example/";
  const windows = [{ type: "USAGE_LIMIT", unit: "percent", used: "/used" }];
  const quota = { kind: "json", url, windows };
  liveConfig.swap(
    await minimalConfig({ connections: [connectionFile({ quota })] }),
  );
  await start();
  const [connection] = liveConfig.current().connections;
  const connectionId = connection?.id ?? "";
  const readings = await repliesTo("quota", connectionId, threads);
  assert.deepEqual(asked, [url]);
  for (const [index, thread] of threads.entries()) {
    const [notice] = noticesOf(thread);
    assert.ok(notice?.kind === "polled");
    assert.equal(notice.reading.windows?.[0]?.used, 40);
    assert.equal(notice.ttlMs, 60_000);
    assert.deepEqual(readings[index].reading, notice.reading);
  }
});

/** Calls a function of the main thread from each thread, and returns the values of the replies. */
async function repliesTo(
  name: Call["name"],
  argument: unknown,
  threads: readonly FakeThread[],
) {
  for (const thread of threads) {
    thread.report({ kind: "call", call: { id: 7, name, argument } });
  }
  const repliesOf = ({ orders }: FakeThread) =>
    orders.flatMap((order) => order.kind === "reply" ? [order.reply] : []);
  await until(
    () => threads.every((thread) => repliesOf(thread).length === 1),
    "the replies",
  );
  const replies = threads.flatMap(repliesOf);
  assert.ok(replies.every(({ id }) => id === 7));
  return replies.map(({ value }) => value);
}

Deno.test("the keys of an identity provider that several threads need are read once", async () => {
  const { threads, start, asked, answer } = await createScene();
  const url = "https://login.example.com/keys";
  Object.assign(answer, { keys: [{ kty: "RSA", kid: "k1" }] });
  await start();
  const source = {
    issuer: "https://login.example.com",
    keys: { kind: "url", url },
  } as const;
  const replies = await repliesTo("keys", { source }, threads);
  assert.deepEqual(asked, [url]);
  for (const { set } of replies) {
    assert.deepEqual(set.keys, [{ kty: "RSA", kid: "k1" }]);
  }
});

Deno.test("a reply goes to the thread that called, not to its replacement", async () => {
  const { threads, timers, start, answer } = await createScene();
  const url = "https://login.example.com/keys";
  const source = {
    issuer: "https://login.example.com",
    keys: { kind: "url", url },
  } as const;
  Object.assign(answer, { keys: [{ kty: "RSA", kid: "k1" }] });
  await start();
  const [, caller] = threads;
  caller?.report({
    kind: "call",
    call: { id: 7, name: "keys", argument: { source } },
  });
  caller?.report({ kind: "died", error: "TypeError" });
  timers.advance(1_000);
  await until(() => kinds(caller).includes("reply"), "the reply");
  assert.deepEqual(kinds(threads[2]), ["start"]);
});

Deno.test("a shortage in one thread is reported to all threads, and hasShortage() returns true for a minute", async () => {
  const { threads, timers, start } = await createScene();
  const pool = await start();
  assert.equal(pool.hasShortage(), false);
  threads[0]?.report({ kind: "notice", notice: { kind: "shortage" } });
  assert.deepEqual(noticesOf(threads[1]), [{ kind: "shortage" }]);
  timers.advance(59_999);
  assert.equal(pool.hasShortage(), true);
  timers.advance(1);
  assert.equal(pool.hasShortage(), false);
});

Deno.test("one writer writes the lines of all threads", async () => {
  const { threads, start, written } = await createScene();
  await start();
  threads[0]?.report({ kind: "log", text: "one\n" });
  threads[1]?.report({ kind: "log", text: "two\nthree\n" });
  assert.deepEqual(written, ["one\n", "two\nthree\n"]);
});

/** Returns the metrics of a gateway that served this many requests and serves `inFlight`. */
async function snapshotOf(requests: number, inFlight = 0) {
  const metrics = createGatewayMetrics({
    isModel: () => true,
    isToken: () => true,
    fields: new Set(),
  });
  for (let count = 0; count < requests; count++) {
    metrics.requestEnded({
      facts: {
        method: "GET",
        attempts: [],
        answer: {},
        bytesIn: 0,
        bytesOut: 0,
      },
      ending: "complete",
      totalMs: 1,
    });
  }
  return await metrics.collect({ inFlight, bodyMemoryBytes: 0, quotas: [] });
}

/** Scrapes the metrics. Each listed thread answers with its number of requests. */
async function scrape(
  pool: Serving,
  answers: ReadonlyMap<FakeThread | undefined, number>,
  meanwhile = () => {},
) {
  const collecting = pool.snapshots();
  for (const [thread, requests] of answers) {
    const order = thread?.orders.at(-1);
    assert.ok(order?.kind === "collect");
    const snapshots = [await snapshotOf(requests, 1)];
    thread?.report({ kind: "collected", id: order.id, snapshots });
  }
  meanwhile();
  const samples = readExposition(await formatExposition(await collecting));
  const sum = (name: string) => sumOf(samples, `model_gateway_${name}`);
  return {
    requests: sum("requests_total"),
    inFlight: sum("requests_in_flight"),
  };
}

Deno.test("metrics are summed over all threads, dead threads included", async () => {
  const { threads, timers, start } = await createScene();
  const pool = await start();
  const [one, two] = threads;
  assert.deepEqual(await scrape(pool, new Map([[one, 3], [two, 4]])), {
    requests: 7,
    inFlight: 2,
  });
  two?.report({ kind: "died", error: "TypeError" });
  assert.deepEqual(await scrape(pool, new Map([[one, 5]])), {
    requests: 9,
    inFlight: 1,
  });
  timers.advance(1_000);
  await settle();
  assert.deepEqual(await scrape(pool, new Map([[one, 5], [threads[2], 1]])), {
    requests: 10,
    inFlight: 2,
  });
});

Deno.test("a scrape has a silent thread's previous metrics, and does not wait for a dead thread", async () => {
  const { threads, timers, start } = await createScene();
  const pool = await start();
  const [one, two] = threads;
  await scrape(pool, new Map([[one, 3], [two, 4]]));
  const late = await scrape(
    pool,
    new Map([[one, 5]]),
    () => timers.advance(2_000),
  );
  assert.equal(late.requests, 9);
  const dead = await scrape(
    pool,
    new Map([[one, 6]]),
    () => two?.report({ kind: "died", error: "TypeError" }),
  );
  assert.equal(dead.requests, 10);
});
