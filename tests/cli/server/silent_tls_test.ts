import assert from "node:assert/strict";
import { createDial } from "../../../src/cli/server/dial.ts";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import { createHttp1Client } from "../../../src/upstream/http1/client.ts";
import { Http1Failure } from "../../../src/upstream/http1/failure.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { freePort } from "../../support/program/free_port.ts";
import { nextTurn } from "../../support/settle.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { bodyOf } from "../../upstream/http1/examine.ts";

const CONNECT_MS = 5000;

/** A server that accepts connections, reads what comes and never answers. */
interface SilentServer extends AsyncDisposable {
  /** Resolves for the next connection when its first bytes have arrived. */
  next(): Promise<{
    /** Resolves when the client closes the connection. */
    readonly closed: Promise<void>;
  }>;
}

function startSilentServer(port: number): SilentServer {
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
    [Symbol.asyncDispose]() {
      if (!isOver) listener.close();
      isOver = true;
      for (const connection of open.splice(0)) connection.close();
      return Promise.resolve();
    },
  };
}

/** A client with a clock that stands still. */
function openClient() {
  const timers = createFakeTimers();
  const dial = createDial(() => ({ kind: "direct" }), [testCertificate.cert]);
  const client = createHttp1Client({
    dial,
    deadlines: createDeadlines(timers),
  });
  return {
    timers,
    send: (url: string) =>
      within(
        client.send({
          url,
          headers: [],
          connectMs: CONNECT_MS,
          signal: new AbortController().signal,
        }),
        "the response",
      ),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

Deno.test("a TLS handshake that is never answered ends with the connect timeout, and the next ones leave nothing open", async () => {
  const port = freePort();
  const url = `https://127.0.0.1:${port}/`;
  using client = openClient();
  {
    await using server = startSilentServer(port);
    for (let attempt = 0; attempt < 4; attempt++) {
      const failing = assert.rejects(
        client.send(url),
        (cause) =>
          cause instanceof Http1Failure && cause.kind === "connect" &&
          /timed out/.test(String(cause.cause)),
      );
      const { closed } = await server.next();
      client.timers.advance(CONNECT_MS - 1);
      await nextTurn();
      client.timers.advance(1);
      await failing;
      // Deno keeps the first one open until the server closes it.
      if (attempt > 0) await within(closed, "the connection to be closed");
    }
  }
  await using _server = startRawUpstream(
    (connection) => say(connection, "HTTP/1.1 200 OK\r\n\r\nhello"),
    { ...testCertificate, port },
  );
  for (let count = 0; count < 2; count++) {
    assert.equal(await bodyOf(await client.send(url)), "hello");
  }
});

Deno.test("a request to a server that was silent is aborted at any moment, and leaves nothing open", async () => {
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
