import assert from "node:assert/strict";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  configOf,
  loadFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { readExposition, sumOf } from "../../support/gateway/exposition.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { until } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";
import { paddedBody } from "../../support/wire/padded_body.ts";
import { connectRaw, openUploads } from "../../support/wire/raw_socket.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { startPool } from "../../../src/gateway/process/threads/pool.ts";
import type { Serving } from "../../../src/gateway/process/serving.ts";
import {
  startThread,
  workerCount,
} from "../../../src/gateway/process/threads/thread.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  createLogLines,
  type LogLines,
} from "../../support/gateway/log_lines.ts";
import { steps } from "../../support/steps.ts";

const SERVER = { port: 0, workers: 2, admin: { port: 0 } };

/** The number of connections that reach both threads, except once in 2 to the power of 39 times. */
const REQUESTS = 40;

/** Only Linux distributes connections to threads. */
const ignore = Deno.build.os !== "linux";

testNeeding(
  "two workers share a port: requests, a reload and a drain reach both, and their metrics are summed",
  ignore && "only Linux deals connections out to threads",
  async (t) => {
    await using upstream = startUpstream();
    const file = familiesFile(upstream.url, { server: SERVER });
    await using gateway = await serveFile(file);
    const url = gateway.url + PATHS.chat;

    await t.step("requests and metrics", async () => {
      for (let count = 0; count < REQUESTS; count++) {
        assert.equal((await askOnce(url, ask("chat"))).status, 200);
      }
      const { text } = await askOnce(`${gateway.adminUrl}/metrics`);
      const samples = readExposition(text);
      assert.equal(sumOf(samples, "model_gateway_requests_total"), REQUESTS);
      assert.equal(sumOf(samples, "model_gateway_workers"), 2);
      await until(
        () => gateway.lines("request").length === REQUESTS,
        "every log line, whole",
      );
    });

    await t.step("reload", async () => {
      const name = "bob";
      const sha256 = sha256Hex("mg_bob");
      await gateway.rewrite({ ...file, tokens: [tokenFile({ name, sha256 })] });
      gateway.kill("SIGHUP");
      await gateway.line("config_applied");
      const headers = { authorization: "Bearer mg_bob" };
      const bob = ask("chat", hello("chat"), headers);
      // A thread takes the configuration in its next turn.
      await until(
        async () => (await askOnce(url, bob)).status === 200,
        "the new token",
      );
      const statuses: number[] = [];
      for (let count = 0; count < REQUESTS; count++) {
        statuses.push((await askOnce(url, bob)).status);
        statuses.push((await askOnce(url, ask("chat"))).status);
      }
      assert.ok(
        statuses.slice(2).every((status, index) =>
          status === (index % 2 === 0 ? 200 : 401)
        ),
        String(statuses),
      );
    });

    await t.step("drain", async () => {
      assert.equal((await askOnce(`${gateway.adminUrl}/readyz`)).status, 200);
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      assert.equal(gateway.lines("draining").length, 2);
      assert.equal(gateway.lines("stopped").length, 2);
    });
  },
);

testNeeding(
  "a drain of two workers lets their running requests end",
  ignore && "only Linux deals connections out to threads",
  async () => {
    const gate = Promise.withResolvers<void>();
    await using upstream = startUpstream(async () => {
      await gate.promise;
      return Response.json({ late: true });
    });
    const file = familiesFile(upstream.url, { server: SERVER });
    await using gateway = await serveFile(file);
    const url = gateway.url + PATHS.chat;
    const answers = Array.from({ length: 32 }, () => askOnce(url, ask("chat")));
    for (const _ of answers) await upstream.requests.next();
    gateway.kill("SIGTERM");
    await until(() => gateway.lines("draining").length === 2, "both to drain");
    const running = gateway.lines("draining").map(({ requests }) =>
      Number(requests)
    );
    assert.ok(running.every((count) => count > 0), "both threads serve");
    assert.equal(
      running.reduce((sum, count) => sum + count, 0),
      answers.length,
    );
    assert.equal((await askOnce(`${gateway.adminUrl}/readyz`)).status, 503);
    gate.resolve();
    for (const answer of answers) {
      assert.deepEqual(await answer, { status: 200, text: '{"late":true}' });
    }
    assert.equal((await gateway.ended).code, 0);
    assert.equal(gateway.lines("cut").length, 0);
  },
);

testNeeding(
  "workers enforce the max_concurrent of a token, a connection and the gateway together, exactly",
  ignore && "only Linux deals connections out to threads",
  async (t) => {
    let gate = Promise.withResolvers<void>();
    await using upstream = startUpstream(async () => {
      await gate.promise;
      return Response.json({});
    });
    const bob = tokenFile({ name: "bob", sha256: sha256Hex("mg_bob") });
    await using gateway = await serveFile(familiesFile(upstream.url, {
      server: { port: 0, workers: 3, max_concurrent_requests: 7 },
      tokens: [
        tokenFile({ max_concurrent: 5 }),
        { ...bob, max_concurrent: 100 },
      ],
      connections: [
        familyConnection("A", upstream.url),
        familyConnection("A", upstream.url, {
          name: "narrow",
          models: ["narrow"],
          max_concurrent: 6,
        }),
      ],
    }));
    const asked = 24;
    const rows = [
      { name: "of a token", most: 5, status: 429, token: ALICE_TOKEN },
      { name: "of the gateway", most: 7, status: 503 },
      { name: "of a connection", most: 6, status: 503, model: "narrow" },
    ];
    await steps(t, rows, async (row) => {
      const { most, status, token = "mg_bob", model = "model-a" } = row;
      gate = Promise.withResolvers();
      const body = hello("chat", { model });
      const request = ask("chat", body, { authorization: `Bearer ${token}` });
      const statuses: number[] = [];
      const answers = Array.from({ length: asked }, async () => {
        statuses.push(
          (await askOnce(gateway.url + PATHS.chat, request)).status,
        );
      });
      await until(
        () => statuses.length === asked - most,
        "those to be turned away for whom there is no place",
      );
      assert.deepEqual(new Set(statuses), new Set([status]));
      gate.resolve();
      await Promise.all(answers);
      assert.equal(statuses.filter((one) => one === 200).length, most);
      await until(
        () => gateway.lines("request").length % asked === 0,
        "every request to end",
      );
    });
  },
);

const MIB = 1024 * 1024;

/** Returns the beginning of a long body of alice's, with `bytes` bytes of it. */
function beginning(bytes: number): readonly (string | Uint8Array)[] {
  const lines = [
    `POST ${PATHS.messages} HTTP/1.1`,
    "host: a",
    "content-type: application/json",
    `x-api-key: ${ALICE_TOKEN}`,
    "anthropic-version: 2023-06-01",
    `content-length: ${32 * MIB}`,
  ];
  return [`${lines.join("\r\n")}\r\n\r\n`, new Uint8Array(bytes).fill(0x20)];
}

/** The uploads that a token begins: their number, and how many bytes of each are sent. */
const BEGUN: Readonly<Record<string, readonly [count: number, bytes: number]>> =
  { "silent": [200, 1], "that fill the memory": [24, 6 * MIB] };

testNeeding(
  "uploads of one token do not make a request of another token fail, in any worker",
  ignore && "only Linux deals connections out to threads",
  async (t) => {
    await using upstream = startUpstream();
    await steps(t, Object.entries(BEGUN), async ([, [count, bytes]]) => {
      const bob = tokenFile({ name: "bob", sha256: sha256Hex("mg_bob") });
      await using gateway = await serveFile(familiesFile(upstream.url, {
        server: { ...SERVER, max_body_memory: 64 * MIB },
        tokens: [tokenFile(), bob],
      }));
      using _uploads = await openUploads(
        Number(new URL(gateway.url).port),
        {
          count,
          begun: beginning(bytes),
          async areThere() {
            const { text } = await askOnce(`${gateway.adminUrl}/metrics`);
            const samples = readExposition(text);
            const running = sumOf(samples, "model_gateway_requests_in_flight");
            return running + gateway.lines("request").length >= count;
          },
        },
      );
      const headers = { authorization: "Bearer mg_bob" };
      for (let turn = 0; turn < REQUESTS; turn++) {
        const body = turn % 8 === 0
          ? paddedBody("model-a", MIB)
          : hello("chat");
        const { status } = await askOnce(
          gateway.url + PATHS.chat,
          ask("chat", body, headers),
        );
        assert.equal(status, 200);
      }
    });
  },
);

/**
 * The number of threads. If they shared no cool-downs, nearly always more than two would send a
 * request.
 */
const THREADS = 4;

testNeeding(
  "workers share the cool-downs that a provider requested, and read its quota once for all",
  ignore && "only Linux deals connections out to threads",
  async (t) => {
    await using upstream = startUpstream(({ path }) =>
      path === "/quota"
        ? Response.json({ used: 40 })
        : new Response(null, { status: 429, headers: { "retry-after": "60" } })
    );
    const asked = (path: RegExp) =>
      upstream.requests.items.filter((seen) => path.test(seen.path)).length;
    const window = { type: "USAGE_LIMIT", unit: "percent", used: "/used" };
    const url = `${upstream.url}/quota`;
    const quota = { kind: "json", url, windows: [window] };
    const connections = [familyConnection("A", upstream.url, { quota })];
    const server = { port: 0, workers: THREADS };
    await using gateway = await serveFile(
      familiesFile(upstream.url, { server, connections }),
    );
    await t.step("cool-downs", async () => {
      for (let count = 0; count < REQUESTS; count++) {
        const { status } = await askOnce(gateway.url + PATHS.chat, ask("chat"));
        assert.ok(status === 429 || status === 503, String(status));
      }
      // A request may reach a thread before the first one's cool-down does.
      assert.ok(asked(/chat/) <= 2, `asked ${asked(/chat/)} times`);
    });
    await t.step("quotas", async () => {
      const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
      for (let count = 0; count < REQUESTS; count++) {
        const { text } = await askOnce(`${gateway.url}/v1/limits`, { headers });
        assert.equal(JSON.parse(text).data[0].limits[0].used, 40);
      }
      assert.equal(asked(/quota/), 1);
    });
  },
);

testNeeding(
  "workers enforce a token's limits together, exactly, and report its usage as one",
  ignore && "only Linux deals connections out to threads",
  async () => {
    await using upstream = startUpstream(() =>
      Response.json(WIRES.chat.answer)
    );
    const limits = [{ window: "month", requests: 17 }];
    await using gateway = await serveFile(familiesFile(upstream.url, {
      server: { port: 0, workers: 3 },
      tokens: [tokenFile({ limits })],
    }));
    const statuses = await Promise.all(
      Array.from(
        { length: REQUESTS },
        async () =>
          (await askOnce(gateway.url + PATHS.chat, ask("chat"))).status,
      ),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 17);
    assert.equal(statuses.filter((status) => status === 429).length, 23);
    const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
    const counted = async () => {
      const { text } = await askOnce(`${gateway.url}/v1/usage`, { headers });
      const { windows } = JSON.parse(text);
      const month = windows.find(
        (one: { window: string }) => one.window === "month",
      );
      return month.total.requests;
    };
    await until(async () => await counted() === 17, "all to be counted");
    for (let count = 0; count < REQUESTS; count++) {
      assert.equal(await counted(), 17);
    }
  },
);

testNeeding(
  "workers that cannot listen report it once and end the program",
  ignore && "only Linux deals connections out to threads",
  async () => {
    await using taken = startUpstream();
    const port = Number(new URL(taken.url).port);
    const file = familiesFile(taken.url, { server: { port, workers: 2 } });
    await assert.rejects(serveFile(file), /Cannot listen on 127\.0\.0\.1/);
  },
);

Deno.test("`workers: auto` means one thread for each core", () => {
  const count = workerCount("auto", createMemoryLog());
  assert.equal(count, ignore ? 1 : navigator.hardwareConcurrency);
});

const MORTAL = new URL("../../support/fakes/mortal_worker.ts", import.meta.url);

/**
 * Starts two threads. A request for the model `deadly` kills the thread that serves it.
 *
 * @param onListening Called when a thread listens.
 */
async function startMortals(
  upstreamUrl: string,
  { lines, onListening }: {
    readonly lines: LogLines;
    readonly onListening: () => void;
  },
): Promise<Serving> {
  const file = familiesFile(upstreamUrl, {
    server: { port: 0 },
    // A request that dies with its thread occupies the only slot.
    tokens: [tokenFile({ max_concurrent: 1 })],
    connections: [
      familyConnection("A", upstreamUrl),
      familyConnection("A", `${upstreamUrl}/die`, {
        name: "Deadly",
        models: ["deadly"],
      }),
    ],
  });
  const config = configOf(await loadFile(file));
  return await startPool({
    liveConfig: createLiveConfig(config),
    server: config.server,
    log: lines.log,
    workers: 2,
    fetch,
    startThread: (onReport) =>
      startThread((report) => {
        onReport(report);
        if (report.kind === "listening") onListening();
      }, MORTAL),
    timers: hurriedTimers,
    format: "json",
    write() {},
  });
}

testNeeding(
  "a thread that dies of an uncaught error is logged without the message, frees its slots and is replaced, while the other serves",
  Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  async () => {
    await using upstream = startUpstream();
    const lines = createLogLines();
    let listened = 0;
    const pool = await startMortals(upstream.url, {
      lines,
      onListening: () => listened++,
    });
    try {
      const url = pool.url + PATHS.chat;
      assert.equal(await askToDie(url), "", "its own caller is cut off");
      const line = await lines.others.next();
      assert.equal(line.event, "worker_died");
      assert.equal(line.exception, "TypeError");
      assert.doesNotMatch(lines.text(), /canary/);
      assert.ok(pool.isReady());
      await until(() => listened === 3, "the replacement to listen");
      assert.equal(pool.replacements(), 1);
      // The system resets the connections that waited at the dead thread's socket.
      await until(() => isServed(url), "every connection to be served");
    } finally {
      await pool.stop(Promise.resolve());
    }
  },
);

/** Returns the caller's response without `fetch`, which would retry and kill the other thread. */
async function askToDie(url: string): Promise<string> {
  const { port, pathname } = new URL(url);
  const body = hello("chat", { model: "deadly" });
  using socket = await connectRaw(Number(port));
  await socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${ALICE_TOKEN}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return await socket.readAll();
}

/** The number of connections that reach both threads, except once in 2 to the power of 19 times. */
const WORKER_REQUESTS = 20;

async function isServed(url: string): Promise<boolean> {
  for (let count = 0; count < WORKER_REQUESTS; count++) {
    const answer = await askOnce(url, ask("chat")).catch(() => undefined);
    if (answer?.status !== 200) return false;
  }
  return true;
}
