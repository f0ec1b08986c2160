import assert from "node:assert/strict";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";

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
        const response = await gateway.call(PATHS[protocol], ask(protocol));
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

Deno.test("short JSON that breaks off is 502, because none of it was sent", async (t) => {
  const answer =
    'content-type: application/json\r\ncontent-length: 99\r\n\r\n{"id":';
  await using upstream = startRawUpstream(cutAfter(answer));
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const response = await gateway.call(PATHS[protocol], ask(protocol));
      const error = await readError(response, protocol);
      assert.equal(error.status, 502);
      assert.equal((await gateway.lines.of(response)).error, "upstream_broken");
    });
  }
});

Deno.test("a stream that falls silent is cut at the idle deadline, and the upstream's connection closes", async (t) => {
  await using upstream = startUpstream();
  const timeouts = { idle: 100 };
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts }),
    { timers },
  );
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const answer = openAnswer();
      upstream.play(() => answer.response);
      const response = await gateway.call(PATHS[protocol], ask(protocol));
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
  }
});

Deno.test("short JSON that stalls is 504", async () => {
  await using upstream = startRawUpstream(async (connection) => {
    await say(
      connection,
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"id":',
    );
    await listenToEnd(connection);
  });
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts: { idle: 100 } }),
  );
  const response = await gateway.call(PATHS.chat, ask("chat"));
  const error = await readError(response, "chat");
  assert.equal(error.status, 504);
  assert.equal(error.type, "timeout_error");
});
