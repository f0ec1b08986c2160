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
import { testNeeding } from "../../support/ignored.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { freePort } from "../../support/program/free_port.ts";

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
  testNeeding(
    `${signal} with ${MANY} live streams: not ready at once, nothing new is taken, each stream ends whole, exit 0`,
    Deno.build.os === "windows" && "Windows has no such signals",
    async () => {
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
  );
}

/** Checks the caller's part of a stream that the gateway has cut. */
async function checkCut({ model, rest }: Begun): Promise<void> {
  const { text, broken } = await within(rest, "a stream to be cut");
  assert.doesNotMatch(text, /\[DONE\]/, model);
  if (model === "model-a") assert.ok(broken, "natively the body breaks off");
  else assert.match(text, /event: error\n/);
}

testNeeding(
  "a stream that still runs after drain_seconds is cut and does not look complete, and the exit code is 0",
  Deno.build.os === "windows" && "Windows has no such signals",
  async () => {
    const gate = Promise.withResolvers<void>();
    await using upstream = startUpstream(gatedStream(gate.promise));
    await using gateway = await serveUpstream(upstream, { drain_seconds: 0 });
    const streams = await beginStreams(gateway.url, 10);
    gateway.kill("SIGTERM");
    for (const stream of streams) await checkCut(stream);
    assert.equal((await within(gateway.ended, "the exit")).code, 0);
    assert.equal(gateway.lines("cut")[0]?.requests, 10);
    // The log does not blame the provider for the cut.
    for (const { level, ended, failure, reason } of gateway.lines("request")) {
      assert.deepEqual([level, ended, failure, reason], [
        ...["warn", "error", undefined, "the gateway shuts down"],
      ]);
    }
    gate.resolve();
  },
);

testNeeding(
  "a second signal cuts running streams at once",
  Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  async (t) => {
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
);

const PACKAGING = new URL("../../../packaging/", import.meta.url);

const plainSite = await Deno.readTextFile(new URL("nginx.conf", PACKAGING));

const tlsSite = await Deno.readTextFile(new URL("nginx-tls.conf", PACKAGING));

/** A site of nginx, and the scheme and port of its listener. */
interface Site {
  readonly name: string;
  readonly text: string;
  readonly scheme: "http" | "https";
  readonly port: number;
}

const SITES: readonly Site[] = [
  {
    name: "the documentation's nginx",
    text: plainSite,
    scheme: "http",
    port: 8080,
  },
  {
    name: "nginx with TLS and sessions",
    text: tlsSite.replaceAll(
      "/etc/nginx/gateway/",
      fromFileUrl(new URL("../../fixtures/tls/", import.meta.url)),
    ),
    scheme: "https",
    port: 443,
  },
];

/** Returns the text of a site with other ports. */
function siteOf(
  { text }: Site,
  ports: Readonly<Record<number, number>>,
): string {
  return text.replace(
    /(?<=listen |127\.0\.0\.1:)(8787|8788|8080|443)\b/g,
    (port) => `${ports[Number(port)]}`,
  );
}

/** Returns the words with which the template of the unit starts the program at a port. */
async function unitWords(port: number): Promise<readonly string[]> {
  const unit = await Deno.readTextFile(
    new URL("model-gateway@.service", PACKAGING),
  );
  const [, words = ""] = /^ExecStart=\S+ serve (.*)$/m.exec(unit) ?? [];
  assert.notEqual(words, "");
  return words.replace("%i", `${port}`).split(" ");
}

const { start, output, end } = WIRES.chat;

/** Returns a slow stream, which is still running when a gateway restarts. */
function slowStream(): Response {
  const pieces = [start, ...Array<string>(8).fill(output), end];
  const body = ReadableStream.from((async function* () {
    for (const piece of pieces) {
      yield new TextEncoder().encode(piece);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })());
  return new Response(body, { headers: SSE_HEADERS });
}

const WHOLE_STREAM = start + output.repeat(8) + end;

/** Sends requests until it is stopped; every answer must be complete. */
async function keepAsking(
  url: string,
  { stream, signal }: {
    readonly stream: boolean;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  using client = Deno.createHttpClient({
    poolMaxIdlePerHost: 1,
    caCerts: [testCertificate.cert],
  });
  let asked = 0;
  while (!signal.aborted) {
    asked++;
    // Each request has its own session, so that both replicas get some.
    const session = { "x-claude-code-session-id": crypto.randomUUID() };
    const question = ask("chat", hello("chat", { stream }), session);
    const answer = await fetch(url + PATHS.chat, { ...question, client });
    const text = await answer.text();
    assert.equal(answer.status, 200, `request ${asked}: ${text}`);
    assert.equal(text, stream ? WHOLE_STREAM : `{"fine":true}`);
  }
  return asked;
}

/** The number of simultaneous requests. */
const LOOPS = 12;

const ignore = !await hasNginx();

for (const site of SITES) {
  Deno.test({
    name: ignore
      ? `a rolling restart behind ${site.name} fails no request (ignored: there is no nginx here)`
      : `a rolling restart behind ${site.name} fails no request`,
    ignore,
    async fn() {
      await using upstream = startUpstream((seen) =>
        seen.text().includes(`"stream":true`)
          ? slowStream()
          : Response.json({ fine: true })
      );
      const ports = {
        8787: freePort(),
        8788: freePort(),
        [site.port]: freePort(),
      };
      const file = familiesFile(upstream.url);
      const serve = async (port: number) =>
        await serveFile(file, { options: await unitWords(port) });
      const gateways: ServedGateway[] = [
        await serve(ports[8787]),
        await serve(ports[8788]),
      ];
      const nginxPort = ports[site.port] ?? assert.fail();
      await using _ = await startNginx(siteOf(site, ports), nginxPort);
      const url = `${site.scheme}://127.0.0.1:${nginxPort}`;
      const over = new AbortController();
      const { signal } = over;
      const asking = Promise.all([
        ...Array.from(
          { length: LOOPS / 2 },
          () => keepAsking(url, { stream: false, signal }),
        ),
        ...Array.from(
          { length: LOOPS / 2 },
          () => keepAsking(url, { stream: true, signal }),
        ),
      ]);
      try {
        const restarting = restartInTurn(gateways, serve);
        await Promise.race([restarting, asking]);
        await restarting;
        over.abort();
        const asked = await asking;
        assert.ok(asked.every((count) => count > 3), String(asked));
      } finally {
        over.abort();
        for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
      }
    },
  });
}

/** Replaces each gateway by a new one on the same port, one after the other, twice. */
async function restartInTurn(
  gateways: ServedGateway[],
  serve: (port: number) => Promise<ServedGateway>,
): Promise<void> {
  for (const index of [0, 1, 0, 1]) {
    const old = gateways[index] ?? assert.fail();
    old.kill("SIGTERM");
    assert.equal((await old.ended).code, 0);
    assert.equal(old.lines("cut").length, 0);
    await old[Symbol.asyncDispose]();
    const young = await serve(Number(new URL(old.url).port));
    gateways[index] = young;
    // A request that the new gateway refused just before it listened must have reached the other one.
    await until(
      () => young.lines("request").length > LOOPS,
      "the new one to be asked",
    );
  }
}
