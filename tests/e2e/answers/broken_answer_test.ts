import assert from "node:assert/strict";
import {
  brotliCompressSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import {
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { writeAll } from "../../support/upstream/tcp_server.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

/** Responses with headers and an incomplete body. */
const CUT: Readonly<Record<string, string>> = {
  "a stream of events": "content-type: text/event-stream\r\n" +
    "transfer-encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\n",
  "a stream of events, in the middle of a chunk":
    "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nff\r\ndata: ",
  "JSON in chunks": "content-type: application/json\r\n" +
    'transfer-encoding: chunked\r\n\r\n8\r\n{"id":1,\r\n',
  "long JSON with its length":
    'content-type: application/json\r\ncontent-length: 100000\r\n\r\n{"id":1,',
};

function cutAfter(answer: string): Talk {
  return (connection) => say(connection, `HTTP/1.1 200 OK\r\n${answer}`);
}

Deno.test("an answer that breaks off upstream breaks off for the caller and never looks complete", async (t) => {
  for (const [name, answer] of Object.entries(CUT)) {
    for (const protocol of PROTOCOLS) {
      await t.step(`${protocol}: ${name}`, async () => {
        await using upstream = startRawUpstream(cutAfter(answer));
        await using gateway = await startGateway(familiesFile(upstream.url));
        const response = await gateway.ask(protocol);
        assert.equal(response.status, 200);
        await assert.rejects(within(response.text(), "the body to break"));
        const line = await gateway.lines.of(response);
        assert.equal(line.ended, "upstream_broken");
        assert.equal(line.status, 200);
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
});

Deno.test("the caller's socket gets no last chunk of a broken stream", async () => {
  const answer = CUT["a stream of events"] ?? assert.fail();
  await using upstream = startRawUpstream(cutAfter(answer));
  await using gateway = await startGateway(familiesFile(upstream.url));
  using socket = await connectRaw(gateway.port);
  const body = hello("chat");
  await socket.write(
    `POST ${PATHS.chat} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${ALICE_TOKEN}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const text = await socket.readAll();
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.match(text, /data: \{\}/);
  assert.doesNotMatch(text, /\r\n0\r\n/);
});

Deno.test("short JSON that breaks off is 502, because no byte of it was sent", async (t) => {
  const answer =
    'content-type: application/json\r\ncontent-length: 99\r\n\r\n{"id":';
  await using upstream = startRawUpstream(cutAfter(answer));
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    const error = await readError(response, protocol);
    assert.equal(error.status, 502);
    assert.equal((await gateway.lines.of(response)).error, "upstream_broken");
  });
});

Deno.test("a stream that falls silent is cut at the idle deadline, and the upstream's connection closes", async (t) => {
  await using upstream = startUpstream();
  const timeouts = { idle: 100 };
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts }),
    { timers },
  );
  await steps(t, PROTOCOLS, async (protocol) => {
    const answer = openAnswer();
    upstream.play(() => answer.response);
    const response = await gateway.ask(protocol);
    answer.write("data: {}\n\n");
    const reader = response.body?.getReader() ?? assert.fail();
    assert.equal((await reader.read()).value?.length, 10);
    let isCut = false;
    reader.read().catch(() => {
      isCut = true;
    });
    await until(() => {
      timers.advance(100);
      return isCut;
    }, "the stream to be cut");
    await within(answer.cancelled, "the upstream's stream to be cancelled");
    const line = await gateway.lines.of(response);
    assert.equal(line.ended, "upstream_broken");
    assert.equal(line.reason, "the upstream fell silent");
    assert.equal(line.bytes_out, 10);
  });
});

const encoder = new TextEncoder();

/** The ways to mark the end of a body. */
const FRAMINGS: Readonly<Record<string, (body: Uint8Array) => Uint8Array[]>> = {
  "in chunks": (body) => [
    encoder.encode("transfer-encoding: chunked\r\n\r\n"),
    encoder.encode(`${body.length.toString(16)}\r\n`),
    body,
    encoder.encode("\r\n0\r\n\r\n"),
  ],
  "with its length": (body) => [
    encoder.encode(`content-length: ${body.length}\r\n\r\n`),
    body,
  ],
  "up to the end of the connection": (body) => [
    encoder.encode("connection: close\r\n\r\n"),
    body,
  ],
};

/** Starts an upstream whose responses all are complete HTTP messages. */
function answering(headers: string, framing: string, body: Uint8Array) {
  return startRawUpstream(async (connection) => {
    const parts = [
      encoder.encode(`HTTP/1.1 200 OK\r\n${headers}\r\n`),
      ...(FRAMINGS[framing]?.(body) ?? []),
    ];
    for (const part of parts) await writeAll(connection, part);
  });
}

const EVENTS = "content-type: text/event-stream";

/** An answer as the caller receives it, and its log line. */
async function readAnswer(gateway: RunningGateway, protocol: Protocol) {
  const response = await gateway.ask(protocol);
  const read = await within(readToEnd(response.body), "the answer to end");
  return { ...read, line: await gateway.lines.of(response) };
}

Deno.test("a native stream that ends without its protocol's last event is cut", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const framing of Object.keys(FRAMINGS)) {
      await t.step(`${protocol}, ${framing}`, async () => {
        const { start, output, end } = WIRES[protocol];
        const cut = encoder.encode(start + output);
        await using upstream = answering(EVENTS, framing, cut);
        await using gateway = await startGateway(familiesFile(upstream.url));
        const { text, isCut, line } = await readAnswer(gateway, protocol);
        assert.equal(text, start + output);
        assert.equal(isCut, true);
        assert.equal(line.ended, "upstream_broken");
        assert.equal(line.reason, "its answer ended before it was whole");
        const whole = encoder.encode(start + output + end);
        await using good = answering(EVENTS, framing, whole);
        await using other = await startGateway(familiesFile(good.url));
        const received = await readAnswer(other, protocol);
        assert.equal(received.isCut, false);
        assert.equal(received.line.ended, "complete");
      });
    }
  }
});

Deno.test("a native stream that ends with its protocol's error is complete, and the log has the failure", (t) =>
  steps(t, PROTOCOLS, async (protocol) => {
    const { start, output, error } = WIRES[protocol];
    const failure = { ...error("overloaded_error", "No"), type: "error" };
    const text = `${start}${output}data: ${JSON.stringify(failure)}\n\n`;
    const bytes = encoder.encode(text);
    await using upstream = answering(EVENTS, "in chunks", bytes);
    await using gateway = await startGateway(familiesFile(upstream.url));
    const received = await readAnswer(gateway, protocol);
    assert.equal(received.text, text);
    assert.equal(received.isCut, false);
    assert.equal(received.line.ended, "upstream_broken");
    assert.equal(received.line.reason, "its answer ended with an error");
  }));

/** A text that is long enough to be forwarded in chunks. */
const LONG = `{"choices":[{"message":{"content":"${"x".repeat(100_000)}"}}]}`;
const SHORT = `{"choices":[{"message":{"content":"x"}}]}`;
const JSON_TYPES = {
  "JSON": "content-type: application/json",
  "no type": "x-nothing: 1",
};

Deno.test("a native answer whose JSON ends too early never looks complete", async (t) => {
  for (const [type, header] of Object.entries(JSON_TYPES)) {
    for (const framing of Object.keys(FRAMINGS)) {
      for (const [name, text] of Object.entries({ LONG, SHORT })) {
        await t.step(`${type}, ${framing}, ${name}`, async () => {
          const bytes = encoder.encode(text.slice(0, -3));
          await using upstream = answering(header, framing, bytes);
          await using gateway = await startGateway(
            familiesFile(upstream.url),
            { timers: hurriedTimers },
          );
          const response = await gateway.ask("chat");
          if (response.status === 200) {
            const read = await within(readToEnd(response.body), "the answer");
            assert.equal(read.isCut, true);
            const line = await gateway.lines.of(response);
            assert.equal(line.ended, "upstream_broken");
          } else {
            const error = await readError(response, "chat");
            assert.equal(error.status, 502);
            assert.equal(framing, "with its length");
            assert.equal(name, "SHORT");
          }
        });
      }
    }
  }
});

const COMPRESSORS: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: (text) => zstdCompressSync(text),
};

Deno.test("a compressed answer that ends too early never looks complete, with any type", async (t) => {
  for (const [encoding, compress] of Object.entries(COMPRESSORS)) {
    for (const type of ["application/json", "text/plain"]) {
      await t.step(`${encoding}, ${type}`, async () => {
        const bytes = compress(LONG).slice(0, -1);
        const headers =
          `content-type: ${type}\r\ncontent-encoding: ${encoding}`;
        await using upstream = answering(headers, "with its length", bytes);
        await using gateway = await startGateway(familiesFile(upstream.url), {
          timers: hurriedTimers,
        });
        const received = await readAnswer(gateway, "chat");
        assert.ok(received.isCut || received.line.status === 502);
        assert.notEqual(received.line.ended, "complete");
      });
    }
  }
});

Deno.test("a translated answer that ends too early is 502", async (t) => {
  const bodies = {
    JSON: encoder.encode(SHORT.slice(0, -3)),
    "compressed JSON": brotliCompressSync(
      JSON.stringify(WIRES.messages.answer),
    ).slice(0, -1),
  };
  await steps(t, Object.entries(bodies), async ([name, body]) => {
    const encoding = name === "JSON" ? "" : "\r\ncontent-encoding: br";
    const headers = `content-type: application/json${encoding}`;
    await using upstream = answering(headers, "in chunks", body);
    await using gateway = await startGateway(familiesFile(upstream.url), {
      timers: hurriedTimers,
    });
    const question = ask("chat", hello("chat", { model: "model-b" }));
    const response = await gateway.call(PATHS.chat, question);
    assert.equal((await readError(response, "chat")).status, 502);
  });
});

for (const status of ["200 OK", "400 Bad Request"]) {
  for (const protocol of PROTOCOLS) {
    Deno.test(`a ${protocol} answer with status ${status} that has both chunks and a content-length is rejected`, async () => {
      const { answer } = WIRES[protocol];
      const body = JSON.stringify(
        status === "200 OK"
          ? answer
          : WIRES[protocol].error("invalid_request_error", "It is not right"),
      );
      const headers =
        "content-type: application/json\r\ncontent-length: 10\r\n";
      await using upstream = startRawUpstream((connection) =>
        say(
          connection,
          `HTTP/1.1 ${status}\r\n${headers}transfer-encoding: chunked\r\n\r\n` +
            `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        )
      );
      await using gateway = await startGateway(familiesFile(upstream.url));
      const response = await gateway.ask(protocol);
      const error = await readError(response, protocol);
      assert.equal(error.status, 502);
      assert.match(error.message, /content-length beside a transfer-encoding/);
    });
  }
}
