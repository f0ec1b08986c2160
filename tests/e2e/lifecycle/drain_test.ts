import assert from "node:assert/strict";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { until, within } from "../../support/within.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { needing } from "../../support/ignored.ts";

/** Sends the beginning of a stream, and its end after the gate opens. */
function gatedStream(gate: Promise<void>): Script {
  return ({ path }) => {
    const { start, output, end } = WIRES[protocolOfPath(path)];
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encoder.encode(start + output));
        await gate;
        try {
          controller.enqueue(encoder.encode(end));
          controller.close();
        } catch {
          // The gateway has cut the stream.
        }
      },
    });
    return new Response(body, { headers: SSE_HEADERS });
  };
}

/** A stream that has begun, natively or translated. */
interface Begun {
  readonly model: string;
  /** The received text, and true when the body broke off. */
  readonly rest: Promise<{ readonly text: string; readonly broken: boolean }>;
}

/** Begins a stream and resolves after its first bytes. */
async function begin(url: string, model: string): Promise<Begun> {
  const body = hello("chat", { model, stream: true });
  const answer = await fetch(url + PATHS.chat, ask("chat", body));
  assert.equal(answer.status, 200);
  const reader = (answer.body ?? assert.fail("no body")).getReader();
  const decoder = new TextDecoder();
  const first = await reader.read();
  const rest = async () => {
    let text = decoder.decode(first.value, { stream: true });
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { text, broken: false };
        text += decoder.decode(value, { stream: true });
      }
    } catch {
      return { text, broken: true };
    }
  };
  return { model, rest: rest() };
}

/** Half of the streams are native, half are translated. */
async function beginStreams(url: string, count: number): Promise<Begun[]> {
  return await Promise.all(
    Array.from(
      { length: count },
      (_, index) => begin(url, index % 2 === 0 ? "model-a" : "model-b"),
    ),
  );
}

async function serveUpstream(
  upstream: ScriptedUpstream,
  server: Readonly<Record<string, unknown>>,
): Promise<ServedGateway> {
  return await serveFile(
    familiesFile(upstream.url, { server: { port: 0, ...server } }),
  );
}

/** Checks the draining gateway: live, not ready, and without new connections. */
async function checkDraining(gateway: ServedGateway): Promise<void> {
  const { url } = gateway;
  assert.equal((await askOnce(`${url}/readyz`)).status, 503);
  assert.equal((await askOnce(`${url}/livez`)).status, 200);
  for (const protocol of ["chat", "messages", "responses"] as const) {
    const refused = await fetch(url + PATHS[protocol], ask(protocol));
    assert.equal(refused.headers.get("retry-after"), "1");
    const error = await readError(refused, protocol);
    assert.equal(error.status, 503);
    assert.match(error.message, /shutting down/);
  }
}

/** The number of streams when the gateway gets the signal to stop. */
const MANY = 200;

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test({
    ...needing(
      `${signal} with ${MANY} live streams: not ready at once, nothing new is taken, each stream ends whole, exit 0`,
      Deno.build.os === "windows" && "Windows has no such signals",
    ),
    async fn() {
      const gate = Promise.withResolvers<void>();
      await using upstream = startUpstream(gatedStream(gate.promise));
      await using gateway = await serveUpstream(upstream, {});
      const streams = await beginStreams(gateway.url, MANY);
      gateway.kill(signal);
      const { requests } = await gateway.line("draining");
      assert.equal(requests, MANY);
      await checkDraining(gateway);
      gate.resolve();
      for (const { model, rest } of streams) {
        const { text, broken } = await within(rest, "a stream to end");
        assert.ok(!broken, model);
        assert.match(text, /data: \[DONE\]/);
      }
      assert.equal((await within(gateway.ended, "the exit")).code, 0);
      assert.equal(gateway.lines("cut").length, 0);
      const ended = gateway.lines("request").map((line) => line.ended);
      assert.equal(ended.filter((one) => one === "complete").length, MANY);
    },
  });
}

/** Checks the caller's part of a stream that the gateway has cut. */
async function checkCut({ model, rest }: Begun): Promise<void> {
  const { text, broken } = await within(rest, "a stream to be cut");
  assert.doesNotMatch(text, /\[DONE\]/, model);
  if (model === "model-a") assert.ok(broken, "natively the body breaks off");
  else assert.match(text, /event: error\n/);
}

Deno.test({
  ...needing(
    "what still runs after drain_seconds is cut and does not look complete, exit 0",
    Deno.build.os === "windows" && "Windows has no such signals",
  ),
  async fn() {
    const gate = Promise.withResolvers<void>();
    await using upstream = startUpstream(gatedStream(gate.promise));
    await using gateway = await serveUpstream(upstream, { drain_seconds: 0 });
    const streams = await beginStreams(gateway.url, 10);
    gateway.kill("SIGTERM");
    for (const stream of streams) await checkCut(stream);
    assert.equal((await within(gateway.ended, "the exit")).code, 0);
    assert.equal(gateway.lines("cut")[0]?.requests, 10);
    // Natively and translated, the provider did not break them off.
    for (const { level, ended, failure, reason } of gateway.lines("request")) {
      assert.deepEqual([level, ended, failure, reason], [
        ...["warn", "error", undefined, "the gateway shuts down"],
      ]);
    }
    gate.resolve();
  },
});

Deno.test({
  ...needing(
    "a second signal cuts what runs at once",
    Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  ),
  async fn(t) {
    for (const workers of [1, 2]) {
      await t.step(`${workers} workers`, async () => {
        const gate = Promise.withResolvers<void>();
        await using upstream = startUpstream(gatedStream(gate.promise));
        await using gateway = await serveUpstream(upstream, {
          workers,
          drain_seconds: 3600,
        });
        const streams = await beginStreams(gateway.url, 4);
        gateway.kill("SIGTERM");
        await until(
          () => gateway.lines("draining").length === workers,
          "all to drain",
        );
        gateway.kill("SIGINT");
        assert.equal((await within(gateway.ended, "the exit")).code, 0);
        for (const { model, rest } of streams) {
          const { text, broken } = await within(rest, "a stream to end");
          assert.doesNotMatch(text, /\[DONE\]/, model);
          assert.ok(broken || /event: error\n/.test(text), model);
        }
        gate.resolve();
      });
    }
  },
});
