import { createDial } from "../../../src/http1/deno/dial.ts";
import { createHandshakes } from "../../../src/http1/deno/handshakes.ts";
import { readProxies } from "../../../src/http1/deno/proxy_route.ts";
import { createHttp1Client } from "../../../src/http1/client/client.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import {
  listen,
  ListenError,
  tlsFault,
  tryTls,
} from "../../../src/http1/deno/listen.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { freePort } from "../../support/program/free_port.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../support/upstream/test_certificate.ts";
import { startScriptedProxy } from "../../support/upstream/scripted_proxy.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { until, within } from "../../support/within.ts";
import { bodyOf } from "../client/examine.ts";
import { formatProblem } from "../../../src/base/problems.ts";
import { steps } from "../../support/steps.ts";

const CONNECT_MS = 5000;

/** A server that accepts connections and reads from them, but never answers by itself. */
interface SilentServer extends AsyncDisposable {
  /** Resolves for the next connection when its first bytes have arrived. */
  next(): Promise<{
    /** Resolves when the client closes the connection. */
    readonly closed: Promise<void>;
  }>;
  /** Leads the next connection to the upstream. */
  pass(): Promise<void>;
}

function startSilentServer(port: number, upstreamPort = 0): SilentServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const open: Deno.Conn[] = [];
  let isOver = false;
  return {
    async next() {
      const connection = await within(listener.accept(), "a connection");
      open.push(connection);
      const bytes = new Uint8Array(4096);
      await within(connection.read(bytes), "the first bytes");
      const listen = async () => {
        while (await connection.read(bytes) !== null);
      };
      return { closed: listen().catch(() => {}) };
    },
    async pass() {
      const near = await within(listener.accept(), "a connection");
      const far = await Deno.connect({
        hostname: "127.0.0.1",
        port: upstreamPort,
      });
      void near.readable.pipeTo(far.writable).catch(() => {});
      void far.readable.pipeTo(near.writable).catch(() => {});
    },
    [Symbol.asyncDispose]() {
      if (!isOver) listener.close();
      isOver = true;
      for (const connection of open.splice(0)) connection.close();
      return Promise.resolve();
    },
  };
}

/** The age at which a handshake makes its server count as silent, in milliseconds. */
const SILENT_MS = 1000;

/** The most handshakes with one server that may keep their descriptors. */
const MAX_UNANSWERED = 8;

/** A client with a clock that stands still. */
function openClient(proxy?: string) {
  const timers = createFakeTimers();
  const handshakes = createHandshakes(timers);
  const routeOf = readProxies((name) =>
    name === "ALL_PROXY" ? proxy : undefined
  );
  const dial = createDial(routeOf, [testCertificate.cert], handshakes);
  const client = createHttp1Client({
    dial,
    deadlines: createDeadlines(timers),
  });
  return {
    timers,
    handshakes,
    send: (url: string, signal = new AbortController().signal) =>
      within(
        client.send({ url, headers: [], connectMs: CONNECT_MS, signal }),
        "the response",
      ),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

function assertLate(sending: Promise<unknown>): Promise<void> {
  return assert.rejects(
    sending,
    (cause) =>
      cause instanceof Http1Failure && cause.kind === "connect" &&
      /timed out/.test(String(cause.cause)),
  );
}

const ESTABLISHED = "HTTP/1.1 200 OK\r\n\r\n";

/** The routes to a server on this machine; each starts its proxy, if it has one. */
const WAYS: Readonly<
  Record<
    string,
    (port: number) => { url?: string; proxy?: AsyncDisposable }
  >
> = {
  "directly": () => ({}),
  "behind an HTTP proxy": (port) => {
    const proxy = startScriptedProxy(ESTABLISHED, port);
    return { url: `http://127.0.0.1:${proxy.port}`, proxy };
  },
  "behind a SOCKS proxy": (port) => {
    const proxy = startSocksProxy({ tunnelTo: port });
    return { url: `socks5://127.0.0.1:${proxy.port}`, proxy };
  },
};

Deno.test("an unanswered TLS handshake ends at the connect timeout or when the caller leaves, and at most one descriptor stays open", (t) =>
  steps(t, Object.entries(WAYS), async ([, startProxy]) => {
    const port = freePort();
    const { url: proxyUrl, proxy } = startProxy(port);
    await using _proxy = proxy;
    const url = `https://127.0.0.1:${port}/`;
    using client = openClient(proxyUrl);
    {
      await using server = startSilentServer(port);
      for (let attempt = 0; attempt < 11; attempt++) {
        const leaving = new AbortController();
        const sending = client.send(url, leaving.signal);
        const isLate = attempt % 2 === 0;
        const failing = isLate ? assertLate(sending) : assert.rejects(sending);
        const { closed } = await server.next();
        if (isLate) client.timers.advance(CONNECT_MS);
        else leaving.abort(new Error("gone"));
        await failing;
        // Deno keeps the first one open until the server closes it.
        if (attempt > 0) await within(closed, "the connection to be closed");
        assert.equal(client.handshakes.abandoned, 1);
      }
    }
    await until(() => client.handshakes.abandoned === 0, "its end");
    await using _server = startRawUpstream(
      (connection) => say(connection, "HTTP/1.1 200 OK\r\n\r\nhello"),
      { ...testCertificate, port },
    );
    for (let count = 0; count < 2; count++) {
      assert.equal(await bodyOf(await client.send(url)), "hello");
    }
  }));

Deno.test("simultaneous handshakes with a silent server keep a bounded number of descriptors", async () => {
  const port = freePort();
  const url = `https://127.0.0.1:${port}/`;
  using client = openClient();
  await using server = startSilentServer(port);
  const leaving = new AbortController();
  const failing = Array.from(
    { length: 30 },
    () => assert.rejects(client.send(url, leaving.signal)),
  );
  let closed = 0;
  for (const _ of failing) {
    const connection = await server.next();
    connection.closed.then(() => closed++);
  }
  leaving.abort(new Error("gone"));
  await Promise.all(failing);
  await until(() => closed === 30 - MAX_UNANSWERED, "the others to be closed");
  assert.equal(client.handshakes.abandoned, MAX_UNANSWERED);
});

Deno.test("a server that leaves some handshakes unanswered serves other requests, and costs at most one descriptor", async () => {
  const port = freePort();
  const url = `https://127.0.0.1:${port}/`;
  await using upstream = startRawUpstream(
    (connection) => say(connection, "HTTP/1.1 200 OK\r\n\r\nhello"),
    testCertificate,
  );
  const upstreamPort = Number(new URL(upstream.url).port);
  using client = openClient();
  await using server = startSilentServer(port, upstreamPort);
  for (let attempt = 0; attempt < 10; attempt++) {
    const failing = assertLate(client.send(url));
    const { closed } = await server.next();
    client.timers.advance(SILENT_MS);
    // The hanging handshake makes the next one take the detour, which works.
    const serving = client.send(url);
    await server.pass();
    assert.equal(await bodyOf(await serving), "hello");
    client.timers.advance(CONNECT_MS - SILENT_MS);
    await failing;
    if (attempt > 0) await within(closed, "the connection to be closed");
    assert.equal(client.handshakes.abandoned, 1);
  }
});

Deno.test("a request to a silent server leaves no connection open, whenever it is aborted", async () => {
  const port = freePort();
  const dial = createDial(() => ({ kind: "direct" }));
  const origin = { isSecure: true, hostname: "127.0.0.1", port };
  await using server = startSilentServer(port);
  const begin = () => {
    const leaving = new AbortController();
    const dialing = assert.rejects(dial(origin, leaving.signal));
    return { leave: () => leaving.abort(new Error("gone")), dialing };
  };
  const first = begin();
  await server.next();
  first.leave();
  const early = begin();
  early.leave();
  await within(early.dialing, "the early end");
  const late = begin();
  const { closed } = await server.next();
  late.leave();
  await within(late.dialing, "the late end");
  await within(closed, "the connection to be closed");
  await server[Symbol.asyncDispose]();
  await within(first.dialing, "the first handshake to end");
});

const pem = (label: string) =>
  `-----BEGIN ${label}-----\nAA==\n-----END ${label}-----\n`;

const NO_KEY =
  "server.tls.key: holds no usable private key. It must be RSA, ECDSA or Ed25519, in PEM, without a password.";
const NO_CERTIFICATE =
  "server.tls.cert: holds no readable certificate. It must be X.509 in PEM.";

const { cert, key } = testCertificate;

const PAIRS: Readonly<
  Record<string, readonly [{ cert: string; key: string }, string]>
> = {
  "a key of another certificate": [
    { cert, key: nextTestCertificate.key },
    "server.tls.key: is not the key of the certificate.",
  ],
  "an invalid certificate": [
    { cert: pem("CERTIFICATE"), key },
    NO_CERTIFICATE,
  ],
  "half a certificate": [
    { cert: cert.slice(0, 200), key },
    NO_CERTIFICATE,
  ],
  "a key that is none": [{ cert, key: pem("EC PRIVATE KEY") }, NO_KEY],
  "a key with a password": [
    { cert, key: pem("ENCRYPTED PRIVATE KEY") },
    NO_KEY,
  ],
};

Deno.test("tryTls() and listen() report an unusable certificate or key in the gateway's words", (t) =>
  steps(t, Object.entries(PAIRS), ([, [tls, problem]]) => {
    const fault = tryTls(tls, "server.tls");
    assert.equal(fault === undefined ? "" : formatProblem(fault), problem);
    const settings = { host: "--host", port: "--port", tls: "server.tls" };
    const place = { host: "127.0.0.1", port: 0, tls, settings };
    assert.throws(
      () => listen(place, () => Promise.resolve(new Response())),
      (error) =>
        error instanceof ListenError &&
        error.message === `Cannot listen on 127.0.0.1:0: ${problem}`,
    );
  }));

Deno.test("tryTls() finds no fault in a valid certificate and key, or without them", () => {
  assert.equal(tryTls(testCertificate), undefined);
  assert.equal(tryTls(undefined), undefined);
});

Deno.test("tlsFault() reports an unknown error without the platform's message", () => {
  for (const error of [new Error("canary"), "canary"]) {
    assert.equal(
      formatProblem(tlsFault(error, "server.tls")),
      "server.tls: is not a usable pair of certificate and key.",
    );
  }
});
