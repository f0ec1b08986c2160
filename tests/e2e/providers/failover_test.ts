import assert from "node:assert/strict";
import { hello, PROTOCOLS } from "../../support/wire/ask.ts";
import { freePort } from "../../support/program/free_port.ts";
import { good } from "../../support/upstream/bad_provider.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { protocolOfPath, WIRES, WORDS } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

/**
 * Returns a configuration with a connection of each protocol to `bad`, followed by one to
 * `healthy`.
 */
function poolFile(bad: string, healthy: string): Record<string, unknown> {
  const connections = [["bad", bad], ["healthy", healthy]].flatMap((
    [name, url],
  ) =>
    PROTOCOLS.map((protocol) =>
      connectionFile({
        name: `${name} ${protocol}`,
        family: { chat: "A", messages: "B", responses: "C" }[protocol],
        endpoints: { [protocol]: `${url}/v1` },
        models: [`model-${protocol}`],
      })
    )
  );
  return minimalFile({ connections, timeouts: { first_byte: 1500 } });
}

function answerWell({ path, text }: SeenRequest): Response {
  const body = JSON.parse(text());
  return good({
    host: "healthy",
    model: body.model,
    stream: body.stream === true,
    atMs: 0,
    body,
    wire: WIRES[protocolOfPath(path)],
    signal: new AbortController().signal,
    onPiece() {},
  });
}

/** Checks that the second connection serves every protocol, as JSON and as a stream. */
async function checkServed(bad: string, failure: string): Promise<void> {
  await using healthy = startUpstream(answerWell);
  await using gateway = await startGateway(poolFile(bad, healthy.url));
  await Promise.all(PROTOCOLS.map(async (protocol) => {
    const stream = protocol !== "chat";
    const body = hello(protocol, { model: `model-${protocol}`, stream });
    const response = await gateway.ask(protocol, body);
    assert.equal(response.status, 200);
    assert.ok((await response.text()).includes(WORDS));
    const line = await gateway.lines.of(response);
    assert.equal(line.connection, `healthy ${protocol}`);
    const [attempt] = Array.isArray(line.attempts) ? line.attempts : [];
    const { connection, failure: found } = Object(attempt);
    assert.deepEqual([connection, found], [`bad ${protocol}`, failure]);
  }));
  assert.equal(gateway.admission.active, 0);
}

/** The faults of an upstream that does not answer, with their kinds in the log. */
const TALKS: Readonly<Record<string, readonly [Talk, string]>> = {
  "resets the connection": [() => {}, "unreachable"],
  "breaks off in its headers": [
    (connection) => say(connection, "HTTP/1.1 200 OK\r\ncontent-"),
    "unreachable",
  ],
  "answers in no HTTP": [
    (connection) => say(connection, "SSH-2.0-OpenSSH\r\n\r\n"),
    "broken",
  ],
  "closes its half of the connection": [async (connection) => {
    await connection.closeWrite();
    await listenToEnd(connection);
  }, "unreachable"],
  "breaks off before its first event": [
    (connection) =>
      say(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" +
          "transfer-encoding: chunked\r\n\r\n",
      ),
    "broken",
  ],
  "never answers": [listenToEnd, "silent"],
};

Deno.test("another connection serves when the first cannot be reached or breaks off", async (t) => {
  await steps(t, Object.entries(TALKS), async ([, [talk, failure]]) => {
    await using bad = startRawUpstream(talk);
    await checkServed(bad.url, failure);
  });
  await t.step("no server listens", async () => {
    await checkServed(`http://127.0.0.1:${freePort()}`, "unreachable");
  });
  await t.step("its certificate is not trusted", async () => {
    await using bad = startUpstream(undefined, testCertificate);
    await checkServed(bad.url, "unreachable");
  });
  await t.step("never answers the TLS handshake", async () => {
    const over = Promise.withResolvers<void>();
    await using bad = startRawUpstream(() => over.promise);
    await checkServed(bad.url.replace("http:", "https:"), "silent");
    // Deno keeps a connection whose handshake is unfinished until the provider closes it.
    over.resolve();
  });
});

Deno.test("another connection serves when the first refuses a request before the whole body is sent", async () => {
  const refusal = '{"error":{"message":"Overloaded"}}';
  await using bad = startRawUpstream((connection) =>
    say(
      connection,
      "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n" +
        `content-type: application/json\r\ncontent-length: ${refusal.length}\r\n\r\n${refusal}`,
    )
  );
  await using healthy = startUpstream(answerWell);
  await using gateway = await startGateway(poolFile(bad.url, healthy.url));
  const long = "x".repeat(4 * 1024 * 1024);
  const body = hello("messages", {
    model: "model-messages",
    messages: [{ role: "user", content: long }],
  });
  const response = await gateway.ask("messages", body);
  assert.equal(response.status, 200);
  assert.ok((await response.text()).includes(WORDS));
  const seen = await healthy.requests.next();
  assert.equal(seen.text(), body);
});

Deno.test("a large body is sent completely to every attempted connection, natively, renamed and translated", async () => {
  const text = "é".repeat(1_000_000);
  const seen: SeenRequest[] = [];
  await using upstream = startUpstream((request) => {
    seen.push(request);
    return seen.length < 3
      ? new Response(null, { status: 503 })
      : answerWell(request);
  });
  const connection = (name: string, family: string, extra: object) =>
    connectionFile({
      name,
      family,
      endpoints: {
        [family === "A" ? "chat" : "messages"]: `${upstream.url}/v1`,
      },
      ...extra,
    });
  const connections = [
    connection("native", "A", { models: ["m"] }),
    connection("renamed", "A", { models: [{ id: "m", upstream: "other" }] }),
    connection("translated", "B", { models: ["m"] }),
  ];
  await using gateway = await startGateway(minimalFile({ connections }));
  const messages = [{ role: "user", content: text }];
  const body = hello("chat", { model: "m", messages });
  const response = await gateway.ask("chat", body);
  assert.equal(response.status, 200);
  await response.text();
  const [native, renamed, translated] = seen.map((one) => one.text());
  assert.equal(native, body);
  assert.equal(renamed, body.replace('"model":"m"', '"model":"other"'));
  assert.ok(translated?.includes(text));
});
