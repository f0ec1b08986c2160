import assert from "node:assert/strict";
import { ask, credentials, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { say } from "../../support/upstream/raw_upstream.ts";
import { until, within } from "../../support/within.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { askAndCheck } from "../../soak/ask_and_check.ts";
import { hangUpOnce, type Stage } from "../../soak/hang_up.ts";
import { type Scene, startScene, WAYS } from "../../soak/scene.ts";
import { createRandom } from "../../support/fakes/random.ts";

/** Enough for the program and some connections. */
const MAX_DESCRIPTORS = 64;

const CERTIFICATES = fromFileUrl(
  new URL("../../fixtures/tls/", import.meta.url),
);

const CERTIFICATE_FILES = {
  cert: `${CERTIFICATES}cert.pem`,
  key: `${CERTIFICATES}key.pem`,
};

/** Opens idle connections until no descriptors remain. */
async function exhaust(gateway: ServedGateway): Promise<Deno.Conn[]> {
  const port = Number(new URL(gateway.url).port);
  const idle: Deno.Conn[] = [];
  await until(async () => {
    const connecting = Deno.connect({ hostname: "127.0.0.1", port });
    const connection = await connecting.catch(() => undefined);
    if (connection !== undefined) idle.push(connection);
    return gateway.lines("listener_lost").length > 0;
  }, "the descriptors to run out");
  return idle;
}

const hasShell = Deno.build.os !== "windows";

for (const workers of Deno.build.os === "linux" ? [1, 2] : [1]) {
  Deno.test({
    name: hasShell
      ? `a gateway that ran out of descriptors serves again when some are free, with ${workers} workers`
      : "a gateway that ran out of descriptors serves again (ignored: Windows has no ulimit)",
    ignore: !hasShell,
    async fn() {
      await using upstream = startUpstream();
      const file = familiesFile(upstream.url, { server: { port: 0, workers } });
      await using gateway = await serveFile(file, {
        maxDescriptors: MAX_DESCRIPTORS,
      });
      const url = gateway.url + PATHS.chat;
      assert.equal((await askOnce(url, ask("chat"))).status, 200);
      const idle = await exhaust(gateway);
      assert.ok(idle.length > 5, `${idle.length} connections were taken`);
      for (const connection of idle) connection.close();
      await until(
        () =>
          askOnce(url, ask("chat")).then(
            ({ status }) => status === 200,
            () => false,
          ),
        "the gateway to serve again",
      );
      await gateway.line("listening_again");
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
    },
  });
}

/** Sends a request over an open connection and returns the beginning of the response. */
async function sendOver(
  connection: Deno.Conn,
  head: string,
  body = "",
): Promise<string> {
  const lines = [...head.split("\n"), "host: gateway"];
  if (body !== "") lines.push(`content-length: ${body.length}`);
  await say(connection, `${lines.join("\r\n")}\r\n\r\n${body}`);
  const buffer = new Uint8Array(65_536);
  const size = await within(connection.read(buffer), "a response");
  return new TextDecoder().decode(buffer.subarray(0, size ?? 0));
}

// A name lookup without a free descriptor reports that the name is unknown.
for (const host of ["127.0.0.1", "localhost"]) {
  Deno.test({
    name: hasShell
      ? `no free descriptor is 503 in the caller's protocol and no failure of the provider at ${host}`
      : "no free descriptor is 503 (ignored: Windows has no ulimit)",
    ignore: !hasShell,
    async fn() {
      const held = Promise.withResolvers<void>();
      await using upstream = startUpstream(async () => {
        await held.promise;
        return Response.json({});
      });
      const url = upstream.url.replace("127.0.0.1", host);
      const file = familiesFile(url, { server: { port: 0 } });
      await using gateway = await serveFile(file, {
        maxDescriptors: MAX_DESCRIPTORS,
      });
      const low = await gateway.line("descriptors_low");
      assert.ok(Number(low.descriptors) < MAX_DESCRIPTORS);
      assert.ok(Number(low.descriptors_needed) > 2048);
      const idle = await exhaust(gateway);
      const body = hello("chat");
      const head = `POST ${PATHS.chat} HTTP/1.1\n${
        Object.entries(credentials("chat")).map((one) => one.join(": "))
          .join("\n")
      }\ncontent-type: application/json`;
      const asked = idle.slice(0, 8).map((one) => sendOver(one, head, body));
      const short = await gateway.line("request");
      assert.equal(short.status, 503);
      assert.equal(short.error, "gateway_shortage");
      assert.equal(short.failure, "gateway_shortage");
      assert.equal(short.level, "error");
      const [, , , , , , , , free] = idle;
      assert.ok(free);
      const ready = await sendOver(free, "GET /readyz HTTP/1.1");
      assert.match(ready, /^HTTP\/1.1 200 /);
      assert.match(ready, /"gateway_shortage":true/);
      held.resolve();
      const answers = await Promise.all(asked);
      for (const answer of answers) {
        assert.match(answer, /^HTTP\/1.1 (200|503) /);
        if (answer.startsWith("HTTP/1.1 200")) continue;
        assert.match(answer, /retry-after: 1/);
        assert.match(answer, /"code":"gateway_shortage"/);
        assert.match(answer, /short of file descriptors/);
      }
      for (const connection of idle) connection.close();
      await gateway.line("listening_again");
      const again = gateway.url + PATHS.chat;
      assert.equal((await askOnce(again, ask("chat"))).status, 200);
      assert.deepEqual(gateway.lines("cooling_down"), []);
    },
  });
}

/** A low limit of descriptors, and more stalled handshakes than that. */
const FEW_DESCRIPTORS = 256;
const HALF_HANDSHAKES = 400;

Deno.test({
  name: hasShell
    ? `${HALF_HANDSHAKES} TLS handshakes that stop half way lock nobody out with ${FEW_DESCRIPTORS} descriptors`
    : "TLS handshakes that stop half way (ignored: Windows has no ulimit)",
  ignore: !hasShell,
  async fn() {
    await using upstream = startUpstream();
    const file = familiesFile(upstream.url, {
      server: { port: 0, tls: CERTIFICATE_FILES },
    });
    await using gateway = await serveFile(file, {
      maxDescriptors: FEW_DESCRIPTORS,
    });
    const port = Number(new URL(gateway.url).port);
    const url = `https://localhost:${port}${PATHS.chat}`;
    using client = Deno.createHttpClient({
      caCerts: [testCertificate.cert],
      poolMaxIdlePerHost: 0,
    });
    const send = async () => {
      const response = await fetch(url, { ...ask("chat"), client });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await send(), 200);
    using half = new DisposableStack();
    for (let count = 0; count < HALF_HANDSHAKES; count++) {
      const socket = half.use(await connectRaw(port));
      // One half sends nothing, the other the beginning of its first message.
      if (count % 2 === 0) await socket.write("\x16\x03\x01\x00\xc8");
    }
    // The first attempt may fail: a connection that is being opened may be reset.
    await until(
      () => within(send(), "an answer").then((one) => one === 200, () => false),
      "a caller to be served",
    );
    for (let count = 0; count < 20; count++) assert.equal(await send(), 200);
    assert.deepEqual(gateway.lines("listener_lost"), []);
  },
});

const CONNECTIONS = 300;

const REQUEST =
  `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n\r\n`;

Deno.test(`${CONNECTIONS} idle connections delay no other connection and no stop, and may send at any time`, async () => {
  await using upstream = startUpstream();
  await using gateway = await serveFile(
    familiesFile(upstream.url, { server: { port: 0 } }),
  );
  const port = Number(new URL(gateway.url).port);
  using idle = new DisposableStack();
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(port)),
  );
  for (const socket of sockets) idle.use(socket);
  const askAll = async (asking: typeof sockets) => {
    for (const socket of asking) await socket.write(REQUEST);
    const answers = await Promise.all(asking.map((one) => one.answer()));
    const good = answers.filter(({ status }) => status === 200);
    assert.equal(good.length, asking.length);
  };
  // One half has sent a request before and keeps its connection, the other has sent nothing.
  await askAll(sockets.slice(CONNECTIONS / 2));
  const url = gateway.url + PATHS.chat;
  assert.equal((await askOnce(url, ask("chat"))).status, 200);
  await askAll(sockets);
  gateway.kill("SIGTERM");
  assert.equal((await within(gateway.ended, "the end")).code, 0);
});

// The mixed traffic of the soak, shortened to seconds.

const REQUESTS = 300;

/** One of this many callers disconnects. */
const LEAVING = 5;

/**
 * The number of simultaneous requests. Each may leave one idle connection on either side of the
 * gateway.
 */
const CALLERS = 16;

/** The stages at which callers disconnect. */
const STAGES: readonly Stage[] = [
  "in the head",
  "in the body",
  "after the headers",
  "in mid-stream",
];

/** The stage before the gateway recognises a request. */
const UNHEARD: Stage = "in the head";

const random = createRandom(32);

/** Sends all requests, and returns the number of hang-ups that the gateway can notice. */
async function sendAll(round: string, scene: Scene): Promise<number> {
  let next = 0;
  let left = 0;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    while (next < REQUESTS) {
      const index = next++;
      const way = WAYS[index % WAYS.length] ?? assert.fail("no way");
      const tag = `${round}${index}`;
      if (index % LEAVING === 0) {
        const stage = random.pick(STAGES);
        await hangUpOnce({ scene, way, random, tag, stage });
        if (stage !== UNHEARD) left++;
        continue;
      }
      const words = 1 + random.below(40);
      const question = { tag, behaviour: "whole", words } as const;
      const isStream = random.below(2) === 0;
      assert.equal(
        await askAndCheck({ way, question, isStream }, scene),
        undefined,
      );
    }
  }));
  return left;
}

/** The number of a process's descriptors; 0 when the system does not report it. */
async function descriptorsOf(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const list = new Deno.Command("ls", { args: [`/proc/${pid}/fd`] });
  const { stdout } = await list.output();
  return new TextDecoder().decode(stdout).split("\n").length;
}

Deno.test(`when the callers of a fifth of ${REQUESTS} requests over all pairs of protocols leave, the others get the right answers, and nothing leaks`, async () => {
  await using scene = await startScene();
  const settle = (left: number) =>
    until(
      async () =>
        await scene.inFlight() === 0 && (await scene.account()).open === 0 &&
        await scene.ended("client_abort") === left,
      `${left} callers to have left`,
    );
  const first = await sendAll("a", scene);
  await settle(first);
  const before = await descriptorsOf(scene.gateway.pid);
  const second = await sendAll("b", scene);
  await settle(first + second);
  const more = await descriptorsOf(scene.gateway.pid) - before;
  // A leak would leave one per disconnected caller.
  assert.ok(more < REQUESTS / LEAVING, `${more} descriptors stay behind`);
  const served = 2 * (REQUESTS - REQUESTS / LEAVING);
  assert.equal(await scene.ended("complete"), served);
  assert.equal(await scene.ended("error"), 0);
  assert.equal(await scene.ended("upstream_broken"), 0);
});
