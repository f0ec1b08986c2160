import assert from "node:assert/strict";
import {
  createDeadlines,
  untilAbort,
} from "../../../src/core/time/deadlines.ts";
import { createHttp1Client } from "../../../src/upstream/http1/client.ts";
import { noAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { needing } from "../../support/ignored.ts";

const canResolveNames = await Deno.permissions.query({
  name: "net",
  host: "nowhere.invalid",
});

/** Sends a request in each protocol through a gateway whose upstreams are at `url`. */
async function checkUnreachable(
  url: string,
  reason: RegExp,
  kind: "unreachable" | "broken" = "unreachable",
): Promise<void> {
  await using gateway = await startGateway(familiesFile(url), {
    timers: hurriedTimers,
  });
  for (const protocol of PROTOCOLS) {
    const response = await gateway.call(PATHS[protocol], ask(protocol));
    const error = await readError(response, protocol);
    assert.equal(error.status, 502);
    assert.equal(
      error.type,
      protocol === "messages" ? "api_error" : "upstream_error",
    );
    assert.match(error.message, reason);
    assert.doesNotMatch(error.message, /127\.0\.0\.1|invalid|http/);
    const line = await gateway.lines.of(response);
    assert.equal(line.ended, "error");
    assert.equal(line.status, 502);
    assert.equal(line.error, `upstream_${kind}`);
    assert.match(String(line.reason), reason);
  }
}

/** Returns the address of a port without a listener. */
function freeAddress(): string {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return `127.0.0.1:${listener.addr.port}`;
}

Deno.test("an upstream that rejects the connection is 502", async () => {
  await checkUnreachable(`http://${freeAddress()}`, /refused the connection/);
});

Deno.test({
  ...needing(
    "an upstream whose name is unknown is 502",
    canResolveNames.state !== "granted" && "no right to look up names",
  ),
  fn: () => checkUnreachable("http://nowhere.invalid", /host name is unknown/),
});

Deno.test("an upstream with an untrusted certificate is 502", async () => {
  await using upstream = startUpstream(undefined, testCertificate);
  await checkUnreachable(upstream.url, /certificate is not valid/);
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("an upstream without the expected TLS is 502", async () => {
  await using upstream = startUpstream();
  const url = upstream.url.replace("http:", "https:");
  await checkUnreachable(url, /TLS handshake failed/);
});

/** The faults of an upstream that does not answer. */
const BREAKING: Readonly<Record<string, readonly [Talk, RegExp]>> = {
  "closes the connection": [() => {}, /closed the connection/],
  "closes the connection in its headers": [
    (connection) => say(connection, "HTTP/1.1 200 OK\r\ncontent-"),
    /broke off/,
  ],
};

Deno.test("an upstream that does not speak HTTP is 502", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(connection, "SSH-2.0-OpenSSH\r\n\r\n")
  );
  await checkUnreachable(upstream.url, /does not speak HTTP/, "broken");
});

Deno.test("an upstream that breaks before it answers is 502", async (t) => {
  for (const [name, [talk, reason]] of Object.entries(BREAKING)) {
    await t.step(name, async () => {
      await using upstream = startRawUpstream(talk);
      await checkUnreachable(upstream.url, reason);
    });
  }
});

Deno.test("an upstream that sends no headers in time is 504, and its connection closes", async (t) => {
  await using upstream = startUpstream(noAnswer);
  const timeouts = { first_byte: 100 };
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts }),
    { timers },
  );
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const answering = gateway.call(PATHS[protocol], ask(protocol));
      const { signal } = await upstream.requests.next();
      timers.advance(100);
      const response = await answering;
      const error = await readError(response, protocol);
      assert.equal(error.status, 504);
      assert.equal(error.type, "timeout_error");
      await within(aborted(signal), "the upstream's request to be aborted");
      const line = await gateway.lines.of(response);
      assert.equal(line.ended, "error");
      assert.equal(gateway.admission.active, 0);
    });
  }
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

Deno.test("an upstream that never completes its TLS handshake is 502 at the same deadline", async () => {
  const over = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(() => over.promise);
  const url = upstream.url.replace("http:", "https:");
  await using gateway = await startGateway(
    familiesFile(url, { timeouts: { first_byte: 100 } }),
  );
  const response = await gateway.call(PATHS.chat, ask("chat"));
  assert.equal((await readError(response, "chat")).status, 504);
  // Deno keeps a connection whose handshake is unfinished until the provider closes it.
  over.resolve();
});

Deno.test("an upstream that accepts no connection is 502 at the connect deadline, natively and translated", async (t) => {
  using client = createHttp1Client({
    dial: (_, signal) => untilAbort(new Promise(() => {}), signal),
    deadlines: createDeadlines(hurriedTimers),
  });
  await using gateway = await startGateway(familiesFile("http://192.0.2.1"), {
    client,
    timers: hurriedTimers,
  });
  for (const model of ["model-a", "model-b", "model-c"]) {
    await t.step(model, async () => {
      const body = hello("chat", { model });
      const response = await gateway.call(PATHS.chat, ask("chat", body));
      const error = await readError(response, "chat");
      assert.equal(error.status, 502);
      assert.match(error.message, /the connection timed out/);
      assert.equal(gateway.admission.active, 0);
    });
  }
});

/** Opens a port with a full queue of connections. The system accepts no further one. */
async function startBlackHole(): Promise<
  Disposable & { readonly url: string }
> {
  const listener = Deno.listen({
    hostname: "127.0.0.1",
    port: 0,
    tcpBacklog: 1,
  });
  const { hostname, port } = listener.addr;
  // Linux queues one connection more than the backlog.
  const waiting = [
    await Deno.connect({ hostname, port }),
    await Deno.connect({ hostname, port }),
  ];
  return {
    url: `http://${hostname}:${port}`,
    [Symbol.dispose]() {
      for (const connection of waiting) connection.close();
      listener.close();
    },
  };
}

const isLinux = Deno.build.os === "linux";

Deno.test({
  ...needing(
    isLinux
      ? "an upstream whose system answers no connect is 502 at the connect deadline"
      : "an upstream whose system answers no connect (ignored: other systems fill a queue otherwise)",
    !isLinux && "only Linux answers so",
  ),
  async fn() {
    using hole = await startBlackHole();
    await using gateway = await startGateway(familiesFile(hole.url), {
      timers: hurriedTimers,
    });
    const response = await gateway.call(PATHS.chat, ask("chat"));
    const error = await readError(response, "chat");
    assert.equal(error.status, 502);
    assert.match(error.message, /the connection timed out/);
    assert.equal(gateway.admission.active, 0);
  },
});
