import assert from "node:assert/strict";
import {
  type NetworkClient,
  networkReach,
  openNetworkClient,
} from "../../../src/cli/server/network_client.ts";
import { LongBytes } from "../../../src/streams/bytes.ts";
import { Upload } from "../../../src/upstream/upload.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { within } from "../../support/within.ts";

const MIB = 1024 * 1024;

interface PostOptions {
  readonly client: NetworkClient;
  readonly body: BodyInit;
  readonly signal?: AbortSignal;
}

function post(
  url: string,
  { client, ...init }: PostOptions,
): Promise<Response> {
  return within(client.fetch(url, { method: "POST", ...init }), "the answer");
}

Deno.test("the network's client sends every kind of body with its length", async () => {
  using client = openNetworkClient();
  await using upstream = startUpstream();
  const bodies = {
    "a text": "{}",
    "bytes": new Uint8Array(1000),
    "a blob": new Blob(["{}"]),
    "a long text": "x".repeat(2 * MIB),
    "long bytes": new Uint8Array(3 * MIB),
    "a long blob": new Blob([new Uint8Array(3 * MIB)]),
    "an upload": new Upload(
      new LongBytes([new Uint8Array(MIB), new Uint8Array(2 * MIB).fill(1)]),
    ),
  };
  for (const [name, body] of Object.entries(bodies)) {
    assert.ok(await (await post(upstream.url, { client, body })).json());
    const { headers, body: sent } = await upstream.requests.next();
    const expected = await new Response(body).bytes();
    assert.deepEqual(sent, expected, name);
    assert.equal(headers.get("content-length"), String(expected.length));
    assert.equal(headers.get("transfer-encoding"), null);
  }
});

Deno.test("the network's client asks once more where a provider lets no body through, and no more than that", async () => {
  using client = openNetworkClient();
  let connections = 0;
  await using upstream = startRawUpstream(() => {
    connections++;
  });
  await assert.rejects(
    post(upstream.url, { client, body: "x".repeat(8 * MIB) }),
  );
  assert.equal(connections, 2);
});

Deno.test("the network's client never asks again where the provider has taken the whole body", async () => {
  using client = openNetworkClient();
  for (const bytes of [10, MIB]) {
    let connections = 0;
    await using upstream = startRawUpstream(async (connection) => {
      connections++;
      const buffer = new Uint8Array(65_536);
      // What came with the headers is not counted; far less than that is left.
      for (let left = bytes - 65_536; left > 0;) {
        left -= await connection.read(buffer) ?? Infinity;
      }
    });
    await assert.rejects(
      post(upstream.url, { client, body: new Uint8Array(bytes) }),
    );
    assert.equal(connections, 1);
  }
});

Deno.test("the network's client does not ask again for a caller who has left", async () => {
  using client = openNetworkClient();
  let connections = 0;
  const leaving = new AbortController();
  await using upstream = startRawUpstream(async (connection) => {
    connections++;
    leaving.abort(new Error("gone"));
    await listenToEnd(connection);
  });
  await assert.rejects(
    post(upstream.url, {
      client,
      body: "x".repeat(8 * MIB),
      signal: leaving.signal,
    }),
    /gone/,
  );
  assert.equal(connections, 1);
});

Deno.test("the network's client passes on an answer that needs no body", async () => {
  using client = openNetworkClient();
  const answer =
    "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
  await using upstream = startRawUpstream((connection) =>
    say(connection, answer)
  );
  for (let count = 0; count < 20; count++) {
    const response = await post(upstream.url, {
      client,
      body: "x".repeat(3 * MIB),
    });
    assert.equal(response.status, 401);
    assert.equal(await response.text(), "{}");
  }
});

Deno.test("the network's client sends no more of a body once its answer is over, and closes the connection", async (t) => {
  using client = openNetworkClient();
  const answer =
    "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\n{}";
  const endings: Readonly<
    Record<string, (response: Response) => Promise<unknown>>
  > = {
    "it is read": (response) => response.text(),
    "it is not wanted": async (response) => await response.body?.cancel(),
  };
  for (const [name, end] of Object.entries(endings)) {
    await t.step(name, async () => {
      const over = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      await using upstream = startRawUpstream(async (connection) => {
        await say(connection, answer);
        await over.promise;
        const end = listenToEnd(connection).catch(() => {});
        await within(end, "the end").then(closed.resolve, closed.reject);
      });
      const body = new Uint8Array(30 * MIB);
      const response = await post(upstream.url, { client, body });
      assert.equal(response.status, 413);
      await end(response);
      over.resolve();
      await closed.promise;
    });
  }
});

const reach = networkReach(() => undefined);

function listen(): {
  readonly port: number;
  readonly listener: Deno.TcpListener;
} {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return { listener, port: listener.addr.port };
}

Deno.test("networkReach() reaches a host that accepts connections", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  const accepted = listener.accept();
  await reach(`http://127.0.0.1:${port}/v1`, AbortSignal.timeout(10_000));
  (await accepted).close();
  listener.close();
});

Deno.test("networkReach() rejects where nobody listens", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  listener.close();
  await assert.rejects(
    reach(`http://127.0.0.1:${port}/v1`, AbortSignal.timeout(10_000)),
    Deno.errors.ConnectionRefused,
  );
});

Deno.test("networkReach() gives a TLS handshake up that stalls, and leaves nothing open", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  const accepted = listener.accept();
  const late = new AbortController();
  const work = reach(`https://127.0.0.1:${port}/v1`, late.signal);
  const failed = assert.rejects(work);
  const peer = await accepted;
  await peer.read(new Uint8Array(1));
  late.abort();
  await within(failed, "the handshake to be given up");
  peer.close();
  listener.close();
});

Deno.test("networkReach() proves nothing behind a proxy", () => {
  for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"]) {
    const env = (asked: string) => asked === name ? "http://proxy" : undefined;
    assert.equal(networkReach(env), undefined);
  }
});
