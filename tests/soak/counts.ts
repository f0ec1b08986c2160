import { createReplay } from "../../src/gateway/usage/replay.ts";
import { createCounting } from "../../src/gateway/usage/counting.ts";
import { createMemorySums } from "../../src/gateway/usage/memory_sums.ts";
import { countsTable, placedAt } from "../../src/gateway/usage/tables.ts";
import { readLogLine } from "../../src/gateway/observe/logged_request.ts";
import { systemClock } from "../../src/base/time/timers.ts";
import { digestOf } from "../../src/base/sha256.ts";
import { configOf, loadFile, tokenFile } from "../support/gateway/config.ts";
import { familiesFile, familyConnection } from "../support/gateway/families.ts";
import { type ServedGateway, serveFile } from "../support/gateway/serve.ts";
import {
  startStoreServer,
  storeProgram,
  type StoreServer,
} from "../support/program/store_server.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../support/upstream/scripted_upstream.ts";
import { startTcpRelay, type TcpRelay } from "../support/upstream/tcp_relay.ts";
import { until } from "../support/within.ts";
import { ask, hello, PATHS } from "../support/wire/ask.ts";
import { WIRES } from "../support/wire/wire.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type { Random } from "../support/fakes/random.ts";
import type { SoakOptions } from "./soak_options.ts";

/** The minimum number of requests in each scene. */
const REQUESTS = 4000;

/** The number of disturbances in each scene. */
const TURNS = 6;

/** The number of simultaneous clients. */
const CLIENTS = 16;

/**
 * The most checks for agreement, with half a second between two. An older snapshot restores the
 * reservations of ended requests, which expire after two minutes.
 */
const MAX_TRIES = 260;

const PREFIX = "soak:";

const TOKEN = { kind: "token", name: "alice" } as const;

/** In US dollars per million tokens. */
const PRICE = { input: 2, output: 8 };

/** Limits so high that they reject no request. The soak checks their counts only. */
const LIMITS = [
  { window: "month", requests: 1_000_000 },
  { window: "month", tokens: 1_000_000_000, models: ["model-a"] },
];

/** The token's sums of this month, by the field of the table. */
type Sums = ReadonlyMap<string, number>;

/** Gateways that share their counts. */
interface Scene {
  readonly name: string;
  readonly replicas: number;
  readonly workers: number;
  readonly hasStore: boolean;
}

const SCENES: readonly Scene[] = [
  { name: "1 thread", replicas: 1, workers: 1, hasStore: false },
  { name: "3 threads", replicas: 1, workers: 3, hasStore: false },
  { name: "2 replicas", replicas: 2, workers: 1, hasStore: true },
  { name: "2 replicas of 3 threads", replicas: 2, workers: 3, hasStore: true },
];

/**
 * Tests the counts under disturbance: native and translated requests with callers that hang up,
 * providers that fail, reloads and restarts. The store is paused, killed, emptied, restored from an
 * older snapshot, and replaced by a replica that lags. In the end, `/usage`, its limits and the log
 * must agree, except for the losses of the store.
 */
export async function soakCounts(options: SoakOptions): Promise<void> {
  for (const scene of SCENES) {
    if (scene.hasStore && storeProgram === undefined) {
      options.findings.note(
        scene.name,
        "skipped: this machine has no Valkey or Redis",
      );
      continue;
    }
    await soakScene(scene, options);
  }
}

async function soakScene(
  scene: Scene,
  { findings, random, effort }: SoakOptions,
): Promise<void> {
  await using upstream = startUpstream((seen) => answer(seen, random));
  await using store = scene.hasStore ? await openStore() : undefined;
  const fileWith = (limits: readonly unknown[]) =>
    familiesFile(upstream.url, {
      server: { port: 0, workers: scene.workers },
      ...(store === undefined
        ? {}
        : { shared: { url: store.url, prefix: PREFIX } }),
      connections: (["A", "B", "C"] as const).map((family) =>
        familyConnection(family, upstream.url, {
          models: [{ id: `model-${family.toLowerCase()}`, price: PRICE }],
        })
      ),
      tokens: [tokenFile({ limits, max_concurrent: 1000 })],
    });
  const file = fileWith(LIMITS);
  const gateways: ServedGateway[] = [];
  const ended: ServedGateway[] = [];
  for (let count = 0; count < scene.replicas; count++) {
    gateways.push(await serveFile(file));
  }
  try {
    const step = Math.ceil(REQUESTS * effort / (TURNS + 1));
    let asked = 0;
    let hangUps = 0;
    let isOver = false;
    const traffic = Array.from({ length: CLIENTS }, async () => {
      while (!isOver) {
        asked += 1;
        const { url } = random.pick(gateways);
        if (!await askAndLeave(url, random)) hangUps += 1;
      }
    });
    for (let turn = 0; turn <= TURNS; turn++) {
      const next = asked + step;
      while (asked < next) await pause(20);
      if (turn === TURNS) break;
      for (const gateway of gateways) {
        await gateway.rewrite(turn % 2 === 0 ? fileWith([]) : file);
        gateway.kill("SIGHUP");
      }
      await store?.troubles[turn]?.();
      if (turn === TURNS - 1) await restartOne(gateways, ended, file);
    }
    isOver = true;
    await Promise.all(traffic);
    const logged = () => sumsOfLog([...ended, ...gateways], file);
    const lost = store?.lost ?? new Map();
    const faults = await judge({ gateways, logged, lost });
    for (const fault of faults) findings.fail(`${scene.name}: ${fault}`);
    const requests = totalOf(await logged(), "requests");
    const uncounted = uncountedOf([...ended, ...gateways]);
    const named = [...uncounted].map(([why, count]) => `${count} ${why}`);
    const unseen = asked - requests - sum(uncounted.values());
    findings.note(
      scene.name,
      `${requests} counted of ${asked}, ${
        totalOf(lost, "requests")
      } lost with the store; not sent to a provider: ${
        named.join(", ") || "none"
      }; ${unseen} without a line in the log, of ${hangUps} callers who left`,
    );
    if (unseen < 0 || unseen > hangUps) {
      findings.fail(
        `${scene.name}: ${unseen} requests have no line in the log`,
      );
    }
  } finally {
    for (const gateway of [...ended, ...gateways]) {
      await gateway[Symbol.asyncDispose]();
    }
  }
}

/** Replaces one process by another. The old one ends its requests first. */
async function restartOne(
  gateways: ServedGateway[],
  ended: ServedGateway[],
  file: unknown,
): Promise<void> {
  if (gateways.length < 2) return;
  const next = await serveFile(file);
  // Counts that have not reached the store when a replica ends are lost.
  for (const { url } of gateways) await untilConnected(url);
  const [old] = gateways.splice(0, 1, next);
  if (old === undefined) return;
  ended.push(old);
  old.kill("SIGTERM");
  await old.ended;
}

async function untilConnected(url: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${url}/readyz`);
    return (await response.text()).includes(`"connected"`);
  }, "the store to be connected");
}

const WAYS: readonly { readonly path: Protocol; readonly model: string }[] = [
  { path: "chat", model: "model-a" },
  { path: "messages", model: "model-a" },
  { path: "responses", model: "model-a" },
  { path: "messages", model: "model-b" },
  { path: "responses", model: "model-c" },
  { path: "chat", model: "model-b" },
  { path: "chat", model: "model-c" },
];

/**
 * Sends a request, and often disconnects before the answer is complete.
 *
 * @returns False when there was no response, because the caller left first or the gateway ended.
 */
async function askAndLeave(url: string, random: Random): Promise<boolean> {
  const { path, model } = random.pick(WAYS);
  const stream = random.below(2) === 0;
  const leaving = new AbortController();
  const timer = random.below(4) === 0
    ? setTimeout(() => leaving.abort(), random.below(60))
    : undefined;
  let hasResponse = false;
  try {
    const response = await fetch(url + PATHS[path], {
      ...ask(path, hello(path, { model, stream })),
      signal: leaving.signal,
    });
    hasResponse = true;
    const isRead = random.below(8) !== 0;
    if (isRead) await response.arrayBuffer();
    else await response.body?.cancel();
  } catch {
    // The caller disconnected, or the provider broke off.
  } finally {
    clearTimeout(timer);
  }
  return hasResponse;
}

/** Returns the provider's response, which is an answer in most cases. */
async function answer(
  { path, text, signal }: SeenRequest,
  random: Random,
): Promise<Response> {
  const wire = path.includes("messages")
    ? WIRES.messages
    : path.includes("responses")
    ? WIRES.responses
    : WIRES.chat;
  const mood = random.below(100);
  if (mood < 3) {
    return Response.json(wire.error("api_error", "x"), { status: 500 });
  }
  if (mood < 10) await pause(random.below(50));
  if (mood === 10) await pause(1000, signal);
  if (!text().includes('"stream":true')) return Response.json(wire.answer);
  const isCut = mood > 10 && mood < 14;
  const pieces = [wire.start, wire.output, ...(isCut ? [] : [wire.end])];
  return new Response(
    ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()),
    { headers: { "content-type": "text/event-stream" } },
  );
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** A store with disturbances, which notes its losses. */
interface TroubledStore extends AsyncDisposable {
  readonly url: string;
  readonly lost: Sums;
  readonly troubles: readonly (() => Promise<void>)[];
}

async function openStore(): Promise<TroubledStore> {
  const main = await startStoreServer();
  const standby = await startStoreServer();
  const relay: TcpRelay = startTcpRelay(main.port);
  const lost = new Map<string, number>();
  let current = main;

  function lose(before: Sums, after: Sums): void {
    for (const [field, amount] of before) {
      const missing = amount - (after.get(field) ?? 0);
      lost.set(field, (lost.get(field) ?? 0) + missing);
    }
  }

  /** Pauses writes, waits for pending replies, and reads the counts. */
  async function still(server: StoreServer): Promise<Sums> {
    await server.ask("CLIENT", "PAUSE", "20000", "WRITE");
    await pause(1000);
    return await sumsIn(server);
  }

  async function crash(isOlder: boolean): Promise<void> {
    const kept = await still(current);
    await current.ask("SAVE");
    if (isOlder) {
      await current.ask("CLIENT", "UNPAUSE");
      await pause(1500);
    }
    const before = isOlder ? await still(current) : kept;
    await current.kill();
    lose(before, kept);
    await pause(500);
    await current.restart();
  }

  return {
    url: `redis://127.0.0.1:${relay.port}`,
    lost,
    troubles: [
      async () => {
        await current.ask("CLIENT", "PAUSE", "700", "ALL");
      },
      () => crash(false),
      async () => {
        const key = sumsKey();
        const script =
          "local all = redis.call('HGETALL', KEYS[1]) redis.call('FLUSHALL') return all";
        const reply = await current.ask("EVAL", script, "1", key);
        lose(sumsOfReply(reply), new Map());
      },
      () => crash(true),
      async () => {
        await standby.ask("REPLICAOF", "127.0.0.1", String(current.port));
        await until(
          async () => /master_link_status:up/.test(await standby.ask("INFO")),
          "the standby to catch up",
        );
        await still(current);
        // The standby applies its replication stream at once.
        const kept = await sumsIn(standby);
        await standby.ask("REPLICAOF", "NO", "ONE");
        await current.ask("CLIENT", "UNPAUSE");
        await pause(1500);
        const before = await still(current);
        relay.reroute(standby.port);
        current = standby;
        lose(before, kept);
      },
    ],
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await main[Symbol.asyncDispose]();
      await standby[Symbol.asyncDispose]();
    },
  };
}

function monthTable(): string {
  return countsTable(placedAt("month", Date.now()), TOKEN);
}

function sumsKey(): string {
  return `${PREFIX}sums:${digestOf(monthTable())}`;
}

async function sumsIn(server: StoreServer): Promise<Sums> {
  return sumsOfReply(await server.ask("HGETALL", sumsKey()));
}

/** Returns the fields and values of a reply in the wire format. */
function sumsOfReply(reply: string): Sums {
  const texts = reply.split("\r\n").filter((line) =>
    line !== "" && !/^[*$]\d+$/.test(line)
  );
  const sums = new Map<string, number>();
  for (let index = 0; index + 1 < texts.length; index += 2) {
    sums.set(texts[index] ?? "", Number(texts[index + 1]));
  }
  return sums;
}

/** Returns the token's sums of this month, according to the logs. */
async function sumsOfLog(
  gateways: readonly ServedGateway[],
  file: unknown,
): Promise<Sums> {
  const sums = createMemorySums(systemClock);
  const config = configOf(await loadFile(file));
  const counting = createCounting(sums);
  const replay = createReplay({ counting, config, untilMs: Date.now() + 1 });
  for (const gateway of gateways) {
    for (const line of gateway.output().split("\n")) {
      const request = readLogLine(line);
      if (typeof request === "object") replay.add(request);
    }
  }
  replay.end();
  return sums.table(monthTable());
}

/** Returns the number of logged requests that reached no provider, by their status and failure. */
function uncountedOf(
  gateways: readonly ServedGateway[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const gateway of gateways) {
    for (const line of gateway.lines("request")) {
      const { method, status, failure, error, ended } = line;
      // The soak itself reads `/usage`.
      const isCounted = method !== "POST" ||
        typeof readLogLine(JSON.stringify(line)) === "object";
      if (isCounted) continue;
      const why = `${status ?? ended} ${failure ?? error ?? ended}`;
      counts.set(why, (counts.get(why) ?? 0) + 1);
    }
  }
  return counts;
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}

/** Compares the reports of all gateways with the log, and repeats that while requests still run. */
async function judge({ gateways, logged, lost }: {
  readonly gateways: readonly ServedGateway[];
  readonly logged: () => Promise<Sums>;
  readonly lost: Sums;
}): Promise<readonly string[]> {
  let faults: readonly string[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const expected = await logged();
    const left = (measure: string, model?: string) =>
      totalOf(expected, measure, model) - totalOf(lost, measure, model);
    const all = await Promise.all(
      gateways.map(async ({ url }) => faultsOf(await usageOf(url), left)),
    );
    faults = all.flat();
    if (faults.length === 0) break;
    await pause(500);
  }
  return faults;
}

/** The compared fields of `/usage`. */
interface Usage {
  readonly windows: readonly {
    readonly window: string;
    readonly total: Readonly<Record<string, number>>;
  }[];
  readonly limits: readonly { readonly used: number }[];
}

async function usageOf(url: string): Promise<Usage> {
  const { headers = {} } = ask("chat");
  return await (await fetch(`${url}/v1/usage`, { headers })).json();
}

function faultsOf(
  { windows, limits }: Usage,
  left: (measure: string, model?: string) => number,
): readonly string[] {
  const total = windows.find(({ window }) => window === "month")?.total ?? {};
  const tokens = left("input", "model-a") + left("output", "model-a");
  const cases: readonly (readonly [string, number | undefined, number])[] = [
    ["requests", total.requests, left("requests")],
    ["input_tokens", total.input_tokens, left("input")],
    ["output_tokens", total.output_tokens, left("output")],
    [
      "cost_usd in billionths",
      Math.round((total.cost_usd ?? 0) * 1e9),
      left("cost"),
    ],
    ["limits[0].used", limits[0]?.used, left("requests")],
    ["limits[1].used", limits[1]?.used, tokens],
  ];
  return cases.flatMap(([what, reported, expected]) =>
    reported === expected
      ? []
      : [`${what} is ${reported}, but the log minus the losses is ${expected}`]
  );
}

/** Returns the total of a measure over all connections, of one model or of all. */
function totalOf(sums: Sums, measure: string, model?: string): number {
  let total = 0;
  for (const [field, amount] of sums) {
    const [first, , third] = field.split("\t");
    const isMeant = first === measure && third !== undefined &&
      (model === undefined || third === model);
    if (isMeant) total += amount;
  }
  return total;
}
