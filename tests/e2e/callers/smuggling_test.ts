import assert from "node:assert/strict";
import { PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  BODY,
  BROKEN_CHUNKS,
  CHUNKED,
  CHUNKS,
  head,
  LENGTH,
  REFUSED,
  SECOND,
  SIZE,
  statuses,
} from "../../support/wire/framing.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until } from "../../support/within.ts";

Deno.test("an ambiguous request is rejected, and nothing after it is served", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, request] of Object.entries(REFUSED)) {
    await t.step(name, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(request + SECOND);
      assert.deepEqual(statuses(await socket.readAll()), [400]);
    });
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** The server finds the end of these bodies, but does not decode the coding below the chunks. */
const CODED: Readonly<Record<string, string>> = {
  "an unknown coding": head("transfer-encoding: x", CHUNKED) + CHUNKS,
  "a compression": head("transfer-encoding: gzip, chunked") + CHUNKS,
};

Deno.test("a body with a coding below its chunks is rejected in the caller's protocol", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, request] of Object.entries(CODED)) {
    await t.step(name, async () => {
      const error = errorAnswer(await sendRaw(gateway.port, request), "chat");
      assert.equal(error.status, 400);
      assert.match(error.message, /transfer encoding/);
    });
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a body in broken chunks is not served, and neither are the bytes after it", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, chunks] of Object.entries(BROKEN_CHUNKS)) {
    await t.step(name, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(head(CHUNKED) + chunks + SECOND);
      assert.deepEqual(statuses(await socket.readAll()), []);
    });
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** The part of a body that arrives before a malformed chunk. */
const BEGUN_CHUNKS: Readonly<Record<string, string>> = {
  "its first chunk": "",
  "its second chunk": "1\r\n{\r\n",
};

Deno.test("a chunk that breaks while its body is read is 400 in the caller's protocol, and ends the connection", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, begun] of Object.entries(BEGUN_CHUNKS)) {
      await t.step(`${protocol}: ${name}`, async () => {
        using socket = await connectRaw(gateway.port);
        await socket.write(
          head(CHUNKED, "anthropic-version: 2023-06-01")
            .replace(PATHS.chat, PATHS[protocol]) + begun,
        );
        await until(() => gateway.admission.active === 1, "the request");
        await socket.write("xyz\r\n" + SECOND);
        const error = errorAnswer(await socket.answer(), protocol);
        assert.equal(error.status, 400);
        assert.match(error.message, /its chunks are malformed/);
        assert.equal(await socket.readAll(), "");
        const line = await gateway.lines.requests.next();
        assert.deepEqual([line.status, line.ended], [400, "error"]);
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** Unusual requests with only one reading. */
const SERVED: Readonly<Record<string, string>> = {
  "the same length twice": head(LENGTH, LENGTH) + BODY,
  "a length with zeros before it": head(`content-length: 000${BODY.length}`) +
    BODY,
  "chunks in capitals": head("Transfer-Encoding: CHUNKED") + CHUNKS,
  "chunks with an extension": head(CHUNKED) +
    `${SIZE};a=b\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a long extension": head(CHUNKED) +
    `${SIZE};a=${"b".repeat(3000)}\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a long trailer": head(CHUNKED) +
    `${SIZE}\r\n${BODY}\r\n0\r\nx: ${"y".repeat(12_000)}\r\n\r\n`,
  "chunks with a length and a credential behind them": head(CHUNKED) +
    `${SIZE}\r\n${BODY}\r\n0\r\ncontent-length: 1\r\nauthorization: Bearer x\r\n\r\n`,
};

Deno.test("an unusual but unambiguous request reaches the upstream once, with its body", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [index, [name, request]] of Object.entries(SERVED).entries()) {
    await t.step(name, async () => {
      const { status } = await sendRaw(gateway.port, request);
      assert.equal(status, 200);
      assert.equal(upstream.requests.items.length, index + 1);
      assert.equal(upstream.requests.items.at(-1)?.text(), BODY);
    });
  }
});

Deno.test("a body that looks like a request is not served when its own request is rejected unread", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  using socket = await connectRaw(gateway.port);
  const outer = head(`content-length: ${SECOND.length}`)
    .replace(PATHS.chat, "/v1/nothing");
  const last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  await socket.write(outer + SECOND + last);
  const received = statuses(await socket.readAll());
  assert.equal(received[0], 404);
  assert.equal(upstream.requests.items.length, 0);
});
