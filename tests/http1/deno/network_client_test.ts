import { openNetwork } from "../../../src/gateway/process/network.ts";
import type {
  HttpClient,
  HttpRequest,
  HttpResponse,
} from "../../../src/http1/message.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import {
  createByteReader,
  readAll,
} from "../../../src/base/streams/byte_reader.ts";
import { LongBytes } from "../../../src/base/streams/bytes.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";
import { startKeepAliveUpstream } from "../../support/upstream/keep_alive_upstream.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { bodyOf } from "../client/examine.ts";
import { steps } from "../../support/steps.ts";

type NetworkClient = ReturnType<typeof openNetwork>;

const MIB = 1024 * 1024;

function open(): NetworkClient {
  return openNetwork(() => undefined);
}

type PostOptions =
  & Partial<Pick<HttpRequest, "signal">>
  & Pick<HttpRequest, "body">;

function post(
  { client }: NetworkClient,
  url: string,
  { body, signal = new AbortController().signal }: PostOptions,
): Promise<HttpResponse> {
  const sent = client.send({ url, headers: [], body, connectMs: 0, signal });
  return within(sent, "the response");
}

async function textOf({ body }: HttpResponse): Promise<string> {
  if (body === null) return "";
  const bytes = await readAll(createByteReader(body), MIB);
  return new TextDecoder().decode(bytes);
}

Deno.test("the network client sends every kind of body with its length", async () => {
  using network = open();
  await using upstream = startUpstream();
  const bodies = {
    "no bytes": new Uint8Array(),
    "bytes": new Uint8Array(1000).fill(1),
    "many bytes": new Uint8Array(3 * MIB).fill(2),
    "short pieces": new LongBytes(
      Array.from({ length: 100 }, (_, at) => new Uint8Array(9000).fill(at)),
    ),
    "long pieces": new LongBytes([
      new Uint8Array(MIB),
      new Uint8Array(2 * MIB).fill(1),
      new Uint8Array(7).fill(3),
    ]),
  };
  for (const [name, body] of Object.entries(bodies)) {
    const response = await post(network, upstream.url, { body });
    assert.ok(JSON.parse(await textOf(response)));
    const { headers, body: sent } = await upstream.requests.next();
    const expected = body instanceof LongBytes ? body.join() : body;
    assert.deepEqual(sent, expected, name);
    assert.equal(headers.get("content-length"), String(expected.length));
    assert.equal(headers.get("transfer-encoding"), null);
  }
});

Deno.test("the network client sends no request twice, wherever the connection breaks", async (t) => {
  const takes: Readonly<Record<string, number>> = {
    "nothing of the body": 0,
    "a part of the body": MIB,
    "the whole body": 8 * MIB,
  };
  await steps(t, Object.entries(takes), async ([, most]) => {
    using network = open();
    let connections = 0;
    await using upstream = startRawUpstream(async (connection) => {
      connections++;
      const buffer = new Uint8Array(65_536);
      // The bytes beside the headers are not counted.
      for (let left = most - 65_536; left > 0;) {
        left -= await connection.read(buffer) ?? Infinity;
      }
    });
    await assert.rejects(
      post(network, upstream.url, { body: new Uint8Array(8 * MIB) }),
      { name: "Http1Failure", kind: "closed" },
    );
    assert.equal(connections, 1);
  });
});

Deno.test("the network client stops sending a body when the response is complete, and closes the connection", async (t) => {
  using network = open();
  const answer =
    "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\n{}";
  const endings: Readonly<
    Record<string, (response: HttpResponse) => Promise<unknown>>
  > = {
    "it is read": textOf,
    "it is cancelled": async ({ body }) => await body?.cancel(),
  };
  await steps(t, Object.entries(endings), async ([, end]) => {
    const over = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    await using upstream = startRawUpstream(async (connection) => {
      await say(connection, answer);
      await over.promise;
      const end = listenToEnd(connection).catch(() => {});
      await within(end, "the end").then(closed.resolve, closed.reject);
    });
    const body = new Uint8Array(30 * MIB);
    const response = await post(network, upstream.url, { body });
    assert.equal(response.status, 413);
    await end(response);
    over.resolve();
    await closed.promise;
  });
});

function listen(): {
  readonly port: number;
  readonly listener: Deno.TcpListener;
} {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return { listener, port: listener.addr.port };
}

Deno.test("aborting a request ends its stalled TLS handshake, and leaves no connection open", async () => {
  using network = open();
  const { listener, port } = listen();
  const accepted = listener.accept();
  const late = new AbortController();
  const work = post(network, `https://127.0.0.1:${port}/v1`, {
    body: undefined,
    signal: late.signal,
  });
  const failed = assert.rejects(work);
  const peer = await accepted;
  await peer.read(new Uint8Array(1));
  late.abort();
  await within(failed, "the handshake to be ended");
  peer.close();
  listener.close();
});

function postNetworkRaces(
  client: HttpClient,
  url: string,
): Promise<HttpResponse> {
  const { signal } = new AbortController();
  const body = new Uint8Array(1000);
  return within(
    client.send({ url, headers: [], body, connectMs: 0, signal }),
    "the response",
  );
}

Deno.test("a connection that its server closes after a response is closed and not used again", async () => {
  using network = openNetwork(() => undefined);
  await using upstream = startKeepAliveUpstream(() => "answer and close");
  for (let count = 1; count <= 5; count++) {
    assert.equal(
      await bodyOf(await postNetworkRaces(network.client, upstream.url)),
      "{}",
    );
    await until(() => upstream.givenUp === count, "the end to be noticed");
  }
  const connections = upstream.heard.map(({ connection }) => connection);
  assert.deepEqual(connections, [0, 1, 2, 3, 4]);
});

/** The routes to a provider; each returns the proxy's address for its port. */
const WAYS: Readonly<Record<string, ((port: number) => string) | undefined>> = {
  "directly": undefined,
  "behind a SOCKS proxy": (port) => `socks5://127.0.0.1:${port}`,
  "behind a SOCKS proxy with credentials": (port) =>
    `socks5h://me:secret@127.0.0.1:${port}`,
};

Deno.test("a request fails when the server closes its connection, and reaches no server twice, on every route", (t) =>
  steps(t, Object.entries(WAYS), async ([way, addressOf]) => {
    await using upstream = startKeepAliveUpstream(({ turn }) =>
      turn < 2 ? "answer" : "close"
    );
    await using proxy = startSocksProxy({
      tunnelTo: Number(new URL(upstream.url).port),
      ...(way.endsWith("credentials") ? { wants: "me:secret" } : {}),
    });
    using network = openNetwork((name) =>
      name === "ALL_PROXY" ? addressOf?.(proxy.port) : undefined
    );
    const outcomes = { answered: 0, failed: 0 };
    for (let count = 0; count < 12; count++) {
      try {
        await bodyOf(await postNetworkRaces(network.client, upstream.url));
        outcomes.answered++;
      } catch (cause) {
        assert.ok(cause instanceof Http1Failure, String(cause));
        assert.deepEqual(cause.progress, {
          sent: "all",
          hasAnswer: false,
          isReused: true,
        });
        outcomes.failed++;
      }
    }
    assert.deepEqual(outcomes, { answered: 8, failed: 4 });
    assert.equal(upstream.heard.length, 12);
    assert.equal(proxy.requests.length, addressOf === undefined ? 0 : 4);
  }));

Deno.test("a response is complete when its server ends one direction, and the client closes the other", async () => {
  using network = openNetwork(() => undefined);
  const closed = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(async (connection) => {
    await say(connection, "HTTP/1.1 200 OK\r\n\r\nhello");
    await connection.closeWrite();
    await listenToEnd(connection);
    closed.resolve();
  });
  assert.equal(
    await bodyOf(await postNetworkRaces(network.client, upstream.url)),
    "hello",
  );
  await within(closed.promise, "the other direction to be closed");
});
