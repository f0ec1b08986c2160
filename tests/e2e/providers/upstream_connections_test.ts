import assert from "node:assert/strict";
import type { Http2ServerResponse } from "node:http2";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type KeepAliveUpstream,
  startKeepAliveUpstream,
} from "../../support/upstream/keep_alive_upstream.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import {
  type SecureUpstream,
  startSecureUpstream,
} from "../../support/upstream/secure_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { startTcpRelay } from "../../support/upstream/tcp_relay.ts";
import { until, within } from "../../support/within.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";

const CERTIFICATE = fromFileUrl(
  new URL("../../fixtures/tls/cert.pem", import.meta.url),
);

/** Starts a gateway in its own process that trusts the tests' certificate. */
function serve(
  url: string,
  timeouts: Readonly<Record<string, number>> = {},
): Promise<ServedGateway> {
  return serveFile(familiesFile(url, { server: { port: 0 }, timeouts }), {
    env: { DENO_CERT: CERTIFICATE },
  });
}

function chat(gateway: ServedGateway): ReturnType<typeof askOnce> {
  const asked = askOnce(gateway.url + PATHS.chat, ask("chat"));
  return within(asked, "the gateway to answer");
}

function sayGood(response: Http2ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end("{}");
}

function assertUncoupled({ versions }: SecureUpstream): void {
  assert.deepEqual([...new Set(versions)], ["1.1"]);
}

/** An event of a Chat Completions stream, as long as the buffer of one socket. */
const LONG_EVENT = `data: ${
  JSON.stringify({
    choices: [{ index: 0, delta: { content: "x".repeat(64 * 1024) } }],
  })
}\n\n`;

Deno.test("callers that stop reading large streams delay no other caller of the provider", async () => {
  let written = 0;
  const pour = (response: Http2ServerResponse) => {
    do written++; while (response.write(LONG_EVENT));
  };
  await using upstream = await startSecureUpstream((_, response, body) => {
    if (!body.includes("stream")) return sayGood(response);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.on("drain", () => pour(response));
    pour(response);
  });
  await using gateway = await serve(upstream.url);
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const leaving = new AbortController();
  const body = hello("chat", { stream: true });
  const stalled = await Promise.all([1, 2, 3].map(() =>
    within(
      fetch(gateway.url + PATHS.chat, {
        ...ask("chat", body),
        client,
        signal: leaving.signal,
      }),
      "the stream to begin",
    )
  ));
  assert.deepEqual(stalled.map(({ status }) => status), [200, 200, 200]);
  let before = -1;
  let unchanged = 0;
  await until(() => {
    unchanged = written === before ? unchanged + 1 : 0;
    before = written;
    return unchanged === 20;
  }, "the streams to stand still");
  assert.equal((await chat(gateway)).status, 200);
  assertUncoupled(upstream);
  leaving.abort();
});

Deno.test("a provider with a low limit for HTTP/2 streams gets all requests at once", async () => {
  const REQUESTS = 10;
  const waiting: Http2ServerResponse[] = [];
  await using upstream = await startSecureUpstream((_, response) => {
    if (waiting.push(response) === REQUESTS) waiting.forEach(sayGood);
  }, 4);
  await using gateway = await serve(upstream.url);
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, () => chat(gateway)),
  );
  for (const { status, text } of answers) assert.equal(status, 200, text);
  assertUncoupled(upstream);
});

Deno.test("no request fails when twenty kept connections fall silent at once, and every repeated attempt is logged", async () => {
  const KEPT = 20;
  let waiting: Http2ServerResponse[] = [];
  let together = KEPT;
  await using upstream = await startSecureUpstream((_, response) => {
    waiting.push(response);
    if (waiting.length < together) return;
    waiting.forEach(sayGood);
    waiting = [];
  });
  await using relay = startTcpRelay(upstream.port);
  await using gateway = await serve(`https://127.0.0.1:${relay.port}`, {
    first_byte: 5_000,
  });
  const chats = (count: number) =>
    Promise.all(Array.from({ length: count }, () => chat(gateway)));
  for (const { status } of await chats(KEPT)) assert.equal(status, 200);
  together = 1;
  relay.swallow();
  const answers = [...await chats(12), ...await chats(1)];
  assert.deepEqual(answers.map(({ status }) => status), Array(13).fill(200));
  await until(
    () => gateway.lines("request").length === KEPT + answers.length,
    "all lines of the log",
  );
  assert.equal(loggedAttempts(gateway), KEPT + 12 * 2 + 1);
  assert.deepEqual(gateway.lines("cooling_down"), []);
  assertUncoupled(upstream);
});

Deno.test("a provider that closes its connections gets every request exactly once", async () => {
  const REQUESTS = 10;
  await using upstream = await startSecureUpstream((request, response) => {
    // Only HTTP/2 has GOAWAY.
    if (request.httpVersion === "2.0") request.stream.session?.goaway();
    sayGood(response);
  });
  await using gateway = await serve(upstream.url);
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, () => chat(gateway)),
    );
    for (const { status, text } of answers) assert.equal(status, 200, text);
  }
  assert.equal(upstream.versions.length, 2 * REQUESTS);
  assertUncoupled(upstream);
});

/** Returns the number of requests to the provider in the log, for all requests together. */
function loggedAttempts(gateway: ServedGateway): number {
  return gateway.lines("request").reduce(
    (sum, { attempts }) =>
      sum + (Array.isArray(attempts) ? attempts.length : 1),
    0,
  );
}

async function assertLogged(
  gateway: ServedGateway,
  upstream: KeepAliveUpstream,
  requests: number,
): Promise<void> {
  await until(
    () => gateway.lines("request").length === requests,
    "all lines of the log",
  );
  assert.equal(upstream.heard.length, loggedAttempts(gateway));
}

Deno.test("a request goes over a new connection when the provider has closed the old connection", async () => {
  await using upstream = startKeepAliveUpstream(() => "answer and close");
  await using gateway = await serve(upstream.url);
  assert.equal((await chat(gateway)).status, 200);
  await until(() => upstream.givenUp === 1, "the connection to be given up");
  assert.equal((await chat(gateway)).status, 200);
  await assertLogged(gateway, upstream, 2);
  assert.equal(upstream.heard.length, 2);
});

Deno.test("the log has every sent request when the provider closes kept connections instead of answering", async () => {
  await using upstream = startKeepAliveUpstream(({ connection, turn }) =>
    connection === 0 && turn === 1 ? "close" : "answer"
  );
  await using gateway = await serve(upstream.url);
  assert.equal((await chat(gateway)).status, 200);
  assert.equal((await chat(gateway)).status, 200);
  await assertLogged(gateway, upstream, 2);
  assert.equal(upstream.heard.length, 3);
});

Deno.test("behind a SOCKS proxy, a provider that closes kept connections gets exactly the attempts of the log", async () => {
  await using upstream = startKeepAliveUpstream(({ turn }) =>
    turn === 0 ? "answer" : "close"
  );
  await using proxy = startSocksProxy({
    tunnelTo: Number(new URL(upstream.url).port),
  });
  const file = familiesFile("http://provider.example", { server: { port: 0 } });
  await using gateway = await serveFile(file, {
    env: {
      ALL_PROXY: `socks5://127.0.0.1:${proxy.port}`,
      NO_PROXY: "",
      DENO_NO_UPDATE_CHECK: "1",
    },
  });
  const requests = 6;
  for (let count = 0; count < requests; count++) {
    const asked = askOnce(gateway.url + PATHS.chat, ask("chat"));
    assert.equal((await within(asked, "the answer")).status, 200);
  }
  await until(
    () => gateway.lines("request").length === requests,
    "a line for each request",
  );
  const attempts = gateway.lines("request").map(({ attempts = [0] }) =>
    Array.isArray(attempts) ? attempts.length : 0
  );
  const total = attempts.reduce((sum, count) => sum + count, 0);
  assert.ok(total > requests, `${total} attempts`);
  assert.equal(upstream.heard.length, total);
  assert.equal(proxy.requests[0]?.address, "provider.example");
});
