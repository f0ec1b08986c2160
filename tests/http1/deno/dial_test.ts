import { createDial } from "../../../src/http1/deno/dial.ts";
import { openNetwork } from "../../../src/gateway/process/network.ts";
import { readProxies } from "../../../src/http1/deno/proxy_route.ts";
import type { HttpClient, HttpResponse } from "../../../src/http1/message.ts";
import { createHttp1Client } from "../../../src/http1/client/client.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import { loopBack } from "../../../src/http1/deno/loopback.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { reasonOf } from "../../../src/gateway/upstream/failure.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { startSecureHop } from "../../support/upstream/secure_hop.ts";
import { startSecureUpstream } from "../../support/upstream/secure_upstream.ts";
import { startTcpRelay } from "../../support/upstream/tcp_relay.ts";
import { startTcpServer } from "../../support/upstream/tcp_server.ts";
import { startScriptedProxy } from "../../support/upstream/scripted_proxy.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { bodyOf } from "../client/examine.ts";
import { startKeepAliveUpstream } from "../../support/upstream/keep_alive_upstream.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { until, within } from "../../support/within.ts";

const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

/** Opens a client that trusts the tests' own certificate. */
function open(
  variables: Readonly<Record<string, string>> = {},
  caCerts: readonly string[] = [testCertificate.cert],
): HttpClient & Disposable {
  const routeOf = readProxies((name) => variables[name]);
  return createHttp1Client({
    dial: createDial(routeOf, caCerts),
    deadlines: createDeadlines(),
  });
}

function send(
  client: HttpClient,
  url: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<HttpResponse> {
  const request = { url, headers: [], body: new Uint8Array(3), connectMs: 0 };
  return within(client.send({ ...request, signal }), "the response");
}

async function failureOf(work: Promise<unknown>): Promise<Http1Failure> {
  const failure = await work.then(() => undefined, (cause) => cause);
  assert.ok(failure instanceof Http1Failure, String(failure));
  assert.equal(failure.kind, "connect");
  return failure;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

Deno.test("a connection over TLS accepts a certificate for the host's name", async () => {
  await using upstream = startRawUpstream(
    (connection) => say(connection, ANSWER),
    testCertificate,
  );
  using client = open();
  for (const host of ["127.0.0.1", "localhost"]) {
    const url = `https://${host}:${portOf(upstream.url)}/v1`;
    const { status, body } = await send(client, url);
    assert.equal(status, 200);
    await body?.cancel();
  }
});

Deno.test("a certificate of an unknown authority or for another host is rejected", async () => {
  await using upstream = startRawUpstream(
    () => assert.fail("A request came"),
    testCertificate,
  );
  using careful = open({}, []);
  await using proxy = startScriptedProxy(ESTABLISHED, portOf(upstream.url));
  using other = open({ HTTPS_PROXY: `127.0.0.1:${proxy.port}` });
  const attempts = [
    send(careful, `${upstream.url}/v1`),
    send(other, "https://wrong.example/v1"),
    send(other, "https://127.0.0.2/v1"),
  ];
  for (const attempt of attempts) {
    const failure = await failureOf(attempt);
    assert.equal(reasonOf(failure), "its TLS certificate is not valid");
  }
  await using plain = startRawUpstream((connection) => say(connection, ANSWER));
  using client = open();
  const failure = await failureOf(send(client, `https${plain.url.slice(4)}`));
  assert.equal(reasonOf(failure), "the TLS handshake failed");
});

Deno.test("a dial agrees on HTTP/1.1 with a server that also offers HTTP/2, and rejects one that offers only HTTP/2", async () => {
  await using upstream = await startSecureUpstream((_, response) =>
    response.end("ok")
  );
  using client = open();
  assert.equal(await bodyOf(await send(client, upstream.url)), "ok");
  assert.deepEqual(upstream.versions, ["1.1"]);
  await using newer = startRawUpstream(() => assert.fail("A request came"), {
    ...testCertificate,
    alpnProtocols: ["h2"],
  });
  const failure = await failureOf(send(client, newer.url));
  assert.equal(reasonOf(failure), "the TLS handshake failed");
});

Deno.test("a body without a length that ends without TLS's close_notify is cut off", async () => {
  const sent = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(async (connection) => {
    await say(connection, "HTTP/1.1 200 OK\r\n\r\nhello");
    sent.resolve();
    await listenToEnd(connection);
  }, testCertificate);
  await using relay = startTcpRelay(portOf(upstream.url));
  using client = open();
  const { body } = await send(client, `https://127.0.0.1:${relay.port}`);
  assert.ok(body !== null && !(body instanceof ReadableStream));
  assert.equal((await within(body.read(), "the bytes")).value?.length, 5);
  relay.reroute(relay.port);
  await assert.rejects(within(body.read(), "the end"), {
    name: "Http1Failure",
    message: "its answer broke off",
  });
});

/** Sends a request in a separate process, and returns the status or the reason of the failure. */
const SENDER = `
const [{ openNetwork }, { reasonOf }, url] = [
  await import(Deno.args[0]),
  await import(Deno.args[1]),
  Deno.args[2],
];
using network = openNetwork((name) => Deno.env.get(name));
const { signal } = new AbortController();
try {
  const request = { url, headers: [], connectMs: 0, signal };
  const { status, body } = await network.client.send(request);
  await body?.cancel();
  console.log(status);
} catch (cause) {
  console.log(reasonOf(cause));
}
`;

async function sendWith(
  env: Readonly<Record<string, string>>,
  url: string,
): Promise<string> {
  const modules = [
    "../../../src/gateway/process/network.ts",
    "../../../src/gateway/upstream/failure.ts",
  ].map((path) => new URL(path, import.meta.url).href);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-check", SENDER, ...modules, url],
    cwd: fromFileUrl(new URL("../../../", import.meta.url)),
    env,
    signal: AbortSignal.timeout(60_000),
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout).trim() || decoder.decode(stderr);
}

Deno.test("the program uses DENO_CERT and the variables of proxies", async () => {
  await using upstream = startRawUpstream(
    (connection) => say(connection, ANSWER),
    testCertificate,
  );
  const cert = new URL("../../fixtures/tls/cert.pem", import.meta.url);
  const trusting = { DENO_CERT: fromFileUrl(cert) };
  await using proxy = startScriptedProxy(ESTABLISHED, portOf(upstream.url));
  const proxied = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  const outcomes = await Promise.all([
    sendWith(trusting, upstream.url),
    sendWith({}, upstream.url),
    sendWith({ ...trusting, ...proxied }, "https://localhost:1/"),
    sendWith({ ...trusting, ...proxied, NO_PROXY: "*" }, upstream.url),
  ]);
  const refused = "its TLS certificate is not valid";
  assert.deepEqual(outcomes, ["200", refused, "200", "200"]);
  assert.equal(proxy.heads.length, 1);
});

Deno.test("a proxy gets a request for a tunnel to an origin with TLS, with credentials and nothing else", async () => {
  await using upstream = startRawUpstream(
    (connection) => say(connection, ANSWER),
    testCertificate,
  );
  const port = portOf(upstream.url);
  const established = [
    ESTABLISHED,
    "HTTP/1.0 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nproxy-agent: x\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
  ];
  for (const answer of established) {
    await using proxy = startScriptedProxy(answer, port);
    const address = `http://me:s%40cret@127.0.0.1:${proxy.port}`;
    using client = open({ HTTPS_PROXY: address });
    const { status, body } = await send(client, "https://localhost/v1?a=b");
    assert.equal(status, 200);
    await body?.cancel();
    assert.deepEqual(proxy.heads, [
      "CONNECT localhost:443 HTTP/1.1\r\nhost: localhost:443\r\n" +
      `proxy-authorization: Basic ${btoa("me:s@cret")}\r\n\r\n`,
    ]);
  }
});

Deno.test("a request for a tunnel to an IPv6 address has brackets", async () => {
  await using proxy = startScriptedProxy("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  using client = open({ HTTPS_PROXY: `127.0.0.1:${proxy.port}` });
  await failureOf(send(client, "https://[fd00::1]:8443/"));
  assert.match(proxy.heads[0] ?? "", /^CONNECT \[fd00::1\]:8443 HTTP\/1.1\r\n/);
});

Deno.test("a tunnel that a proxy rejects is a failure to connect, with a reason and without the address", async (t) => {
  const refusals = {
    "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n":
      "the proxy did not accept the credentials",
    "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 9\r\n\r\nlocalhost":
      "the proxy did not connect to it",
    "HTTP/1.1 403 localhost\r\n\r\n": "the proxy did not connect to it",
    "HTTP/1.1 101 x\r\n\r\n": "the proxy did not connect to it",
    "HTTP/1.1 200 OK\r\n": "the proxy closed the connection",
    "": "the proxy closed the connection",
    "SSH-2.0\r\n": "the proxy does not speak HTTP",
    "HTTP/1.1 200 OK\nlocalhost\n\n": "the proxy does not speak HTTP",
  };
  for (const [answer, reason] of Object.entries(refusals)) {
    await t.step(`${JSON.stringify(answer)}`, async () => {
      await using proxy = startScriptedProxy(answer);
      using client = open({ HTTPS_PROXY: `127.0.0.1:${proxy.port}` });
      const failure = await failureOf(send(client, "https://localhost:1/"));
      assert.equal(reasonOf(failure), reason);
      assert.doesNotMatch(String(failure.cause), /localhost|127\.0\.0\.1/);
      assert.equal(proxy.heads.length, 1);
    });
  }
});

Deno.test("aborting a request closes its connection to a silent proxy", async () => {
  const closed = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<void>();
  await using proxy = startRawUpstream(async (connection) => {
    heard.resolve();
    await listenToEnd(connection).catch(() => {});
    closed.resolve();
  });
  using client = open({ HTTPS_PROXY: proxy.url });
  const leaving = new AbortController();
  const failing = failureOf(
    send(client, "https://localhost/", leaving.signal),
  );
  await within(heard.promise, "the proxy to be asked");
  leaving.abort(new Error("gone"));
  await failing;
  await within(closed.promise, "the connection to be closed");
});

Deno.test("a proxy gets plain HTTP with whole URLs and credentials, over one kept connection", async () => {
  await using proxy = startKeepAliveUpstream(() => "answer");
  using client = open({ HTTP_PROXY: proxy.url.replace("//", "//me:secret@") });
  for (const path of ["/v1?a=b", "/v2"]) {
    const url = `http://provider.example:81${path}`;
    assert.equal(await bodyOf(await send(client, url)), "{}");
  }
  assert.deepEqual(proxy.heard.map(({ connection }) => connection), [0, 0]);
  assert.equal(
    proxy.heard[0]?.head,
    "POST http://provider.example:81/v1?a=b HTTP/1.1\r\n" +
      "host: provider.example:81\r\n" +
      `proxy-authorization: Basic ${btoa("me:secret")}\r\ncontent-length: 3`,
  );
});

Deno.test("a dial leaves no connection open, whenever it is aborted", async () => {
  const server = startTcpServer(listenToEnd);
  const { port } = server;
  const origin = { isSecure: false, hostname: "127.0.0.1", port };
  const dial = createDial(() => ({ kind: "direct" }));
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let count = 0; count < 200; count++) {
    const leaving = new AbortController();
    const dialing = dial(origin, leaving.signal).then(
      ({ duplex }) => duplex.close(),
      () => {},
    );
    setTimeout(() => leaving.abort(), 0);
    // The connection opens and the signal aborts before the platform reports either.
    Atomics.wait(pause, 0, 0, 1);
    await within(dialing, "the dial");
  }
  await within(
    Promise.resolve(server[Symbol.asyncDispose]()),
    "the end of every connection",
  );
});

Deno.test("a proxy that speaks HTTP over TLS carries plain HTTP and tunnels, and its own certificate is checked", async () => {
  await using upstream = startRawUpstream(
    (connection) => say(connection, ANSWER),
    testCertificate,
  );
  await using inner = startScriptedProxy(ESTABLISHED, portOf(upstream.url));
  await using outer = startSecureHop(inner.port);
  const env = { ALL_PROXY: `https://me:secret@localhost:${outer.port}` };
  {
    using client = open(env);
    const { status, body } = await send(client, "https://localhost/v1");
    assert.equal(status, 200);
    await body?.cancel();
    await failureOf(send(client, "https://wrong.example/v1"));
  }
  await using web = startKeepAliveUpstream(() => "answer");
  await using hop = startSecureHop(portOf(web.url));
  using client = open({ HTTP_PROXY: `https://localhost:${hop.port}` });
  for (const path of ["/v1", "/v2"]) {
    const answer = await send(client, `http://provider.example${path}`);
    assert.equal(await bodyOf(answer), "{}");
  }
  assert.match(
    web.heard[0]?.head ?? "",
    /^POST http:\/\/provider\.example\/v1 /,
  );
  assert.equal(web.heard[1]?.connection, 0);
  using careful = open(env, []);
  const failure = await failureOf(send(careful, "https://localhost/v1"));
  assert.equal(reasonOf(failure), "its TLS certificate is not valid");
  assert.match(
    inner.heads.join(""),
    /^CONNECT localhost:443 [^]*\r\nCONNECT wrong\.example:443 [^]*\r\n$/,
  );
});

Deno.test("a request fails if its proxy's address is not valid, and does not go around the proxy", async () => {
  await using upstream = startRawUpstream(() => assert.fail("A request came"));
  using network = openNetwork((name) =>
    name === "ALL_PROXY" ? "socks4://127.0.0.1:1" : undefined
  );
  const failure = await failureOf(send(network.client, upstream.url));
  assert.equal(reasonOf(failure), "the address of the proxy is not valid");
});

/** Connects to a server through a loopback. */
async function connectTo(talk: Talk) {
  const upstream = startRawUpstream(talk);
  const port = Number(new URL(upstream.url).port);
  const far = await Deno.connect({ hostname: "127.0.0.1", port });
  const near = await loopBack(far);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      try {
        near.close();
      } catch {
        // The test has closed it.
      }
      await until(() => isClosed(far), "the far connection to be closed");
      await upstream[Symbol.asyncDispose]();
    },
  };
}

function isClosed(connection: Deno.TcpConn): boolean {
  try {
    connection.setNoDelay();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.BadResource;
  }
}

async function readText(connection: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1024);
  for (let text = "";;) {
    const size = await connection.read(buffer).catch(() => null);
    if (size === null) return text;
    text += decoder.decode(buffer.subarray(0, size));
  }
}

Deno.test("a response arrives completely even if its sender has stopped reading and closes", async () => {
  for (let round = 0; round < 20; round++) {
    await using scene = await connectTo((connection) =>
      say(connection, "an early answer")
    );
    // The server cuts the upload off at some point.
    const sending = say(scene.near, "x".repeat(3_000_000)).catch(() => {});
    const text = await within(readText(scene.near), "the answer");
    assert.equal(text, "an early answer");
    scene.near.close();
    await within(sending, "the end of the upload");
  }
});

Deno.test("closing either side of a loopback closes the other", async (t) => {
  await t.step("the gateway closes", async () => {
    const closed = Promise.withResolvers<void>();
    await using scene = await connectTo(async (connection) => {
      await listenToEnd(connection);
      closed.resolve();
    });
    await say(scene.near, "hello");
    scene.near.close();
    await within(closed.promise, "the server to see it");
  });
  await t.step("the server closes", async () => {
    await using scene = await connectTo(() => {});
    await say(scene.near, "hello");
    assert.equal(await within(readText(scene.near), "the end"), "");
  });
  await t.step("the far connection is given up", async () => {
    await using scene = await connectTo((connection) =>
      listenToEnd(connection)
    );
    await say(scene.near, "hello");
    scene.far.close();
    assert.equal(await within(readText(scene.near), "the end"), "");
  });
});
