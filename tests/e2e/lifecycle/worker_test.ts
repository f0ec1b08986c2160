import assert from "node:assert/strict";
import { startPool } from "../../../src/cli/workers/pool.ts";
import type { Serving } from "../../../src/cli/server/serving.ts";
import { startThread } from "../../../src/cli/workers/thread.ts";
import { createLiveConfig } from "../../../src/config/live_config.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  configOf,
  loadFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  createLogLines,
  type LogLines,
} from "../../support/gateway/log_lines.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { askOnce } from "../../support/gateway/serve.ts";
import { until } from "../../support/within.ts";
import { needing } from "../../support/ignored.ts";

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
    // A request that dies with its thread occupies the only place.
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

Deno.test({
  ...needing(
    "a thread that dies of an error nobody catches is logged without the error's words, gives back what it held and is replaced, while the other serves",
    Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  ),
  async fn() {
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
});

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

/** So many connections reach both threads, except once in 2 to the power of 19 times. */
const REQUESTS = 20;

async function isServed(url: string): Promise<boolean> {
  for (let count = 0; count < REQUESTS; count++) {
    const answer = await askOnce(url, ask("chat")).catch(() => undefined);
    if (answer?.status !== 200) return false;
  }
  return true;
}
