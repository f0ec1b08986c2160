import assert from "node:assert/strict";
import { openNetworkClient } from "../../../src/cli/server/network_client.ts";
import type {
  HttpResponse,
  UpstreamClient,
} from "../../../src/upstream/call.ts";
import { Http1Failure } from "../../../src/upstream/http1/failure.ts";
import { nextTurn } from "../../support/settle.ts";
import {
  startKeepAliveUpstream,
} from "../../support/upstream/keep_alive_upstream.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { until, within } from "../../support/within.ts";
import { bodyOf } from "../../upstream/http1/examine.ts";

function post(client: UpstreamClient, url: string): Promise<HttpResponse> {
  const { signal } = new AbortController();
  const body = new Uint8Array(1000);
  return within(
    client.send({ url, headers: [], body, connectMs: 0, signal }),
    "the response",
  );
}

Deno.test("a connection that its server ends after an answer is given up, and not used again", async () => {
  using network = openNetworkClient(() => undefined);
  await using upstream = startKeepAliveUpstream(() => "answer and close");
  for (let count = 1; count <= 5; count++) {
    assert.equal(await bodyOf(await post(network.client, upstream.url)), "{}");
    await until(() => upstream.givenUp === count, "the end to be noticed");
  }
  const connections = upstream.heard.map(({ connection }) => connection);
  assert.deepEqual(connections, [0, 1, 2, 3, 4]);
});

/** The ways to a provider; each names the proxy's address after its port. */
const WAYS: Readonly<Record<string, ((port: number) => string) | undefined>> = {
  "directly": undefined,
  "behind a SOCKS proxy": (port) => `socks5://127.0.0.1:${port}`,
  "behind a SOCKS proxy with credentials": (port) =>
    `socks5h://me:secret@127.0.0.1:${port}`,
};

Deno.test("a request that meets the end of its connection fails, and reaches no server twice, on every route", async (t) => {
  for (const [way, addressOf] of Object.entries(WAYS)) {
    await t.step(way, async () => {
      await using upstream = startKeepAliveUpstream(({ turn }) =>
        turn < 2 ? "answer" : "close"
      );
      await using proxy = startSocksProxy({
        tunnelTo: Number(new URL(upstream.url).port),
        ...(way.endsWith("credentials") ? { wants: "me:secret" } : {}),
      });
      using network = openNetworkClient((name) =>
        name === "ALL_PROXY" ? addressOf?.(proxy.port) : undefined
      );
      const outcomes = { answered: 0, failed: 0 };
      for (let count = 0; count < 12; count++) {
        try {
          await bodyOf(await post(network.client, upstream.url));
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
    });
  }
});

Deno.test("a response that ends with one direction of its connection is whole, and the other direction is closed", async () => {
  using network = openNetworkClient(() => undefined);
  const closed = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(async (connection) => {
    await say(connection, "HTTP/1.1 200 OK\r\n\r\nhello");
    await connection.closeWrite();
    await listenToEnd(connection);
    closed.resolve();
  });
  assert.equal(await bodyOf(await post(network.client, upstream.url)), "hello");
  await within(closed.promise, "the other direction to be closed");
});

Deno.test("a response that is cut off is broken, with a length and in chunks", async () => {
  const beginnings = [
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
  ];
  for (const text of beginnings) {
    using network = openNetworkClient(() => undefined);
    await using upstream = startRawUpstream((connection) =>
      say(connection, text)
    );
    await assert.rejects(
      post(network.client, upstream.url).then(bodyOf),
      (cause) => cause instanceof Http1Failure && cause.progress.hasAnswer,
    );
  }
});

Deno.test("a response that arrives byte by byte is read as it arrives", async () => {
  using network = openNetworkClient(() => undefined);
  const text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" +
    "5\r\nhello\r\n0\r\n\r\n";
  await using upstream = startRawUpstream(async (connection) => {
    for (const byte of text) {
      await say(connection, byte);
      await nextTurn();
    }
  });
  assert.equal(await bodyOf(await post(network.client, upstream.url)), "hello");
});
