import assert from "node:assert/strict";
import { hello, PATHS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

function head(...lines: readonly string[]): string {
  return [
    `POST ${PATHS.chat} HTTP/1.1`,
    "host: a",
    "content-type: application/json",
    `authorization: Bearer ${ALICE_TOKEN}`,
    ...lines,
    "\r\n",
  ].join("\r\n");
}

const BODY = hello("chat");
const SIZE = BODY.length.toString(16);
const LENGTH = `content-length: ${BODY.length}`;
const CHUNKED = "transfer-encoding: chunked";
const CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;

/** What another reading of the first request's length would take for a request. */
const SECOND = head(LENGTH, "connection: close") + BODY;

const WRAPPED = 2n ** 64n + BigInt(BODY.length);

/** Requests that two servers could read in two ways, by their fault. */
const REFUSED: Readonly<Record<string, string>> = {
  "a length and chunks": head("content-length: 5", CHUNKED) + "0\r\n\r\n",
  "chunks and a length": head(CHUNKED, "content-length: 4") + CHUNKS,
  "two lengths": head(LENGTH, "content-length: 1") + BODY,
  "two lengths, the shorter first": head("content-length: 1", LENGTH) + BODY,
  "two lengths in one header": head(`content-length: ${BODY.length}, 1`) + BODY,
  "a negative length": head(`content-length: -${BODY.length}`) + BODY,
  "a length with a plus": head(`content-length: +${BODY.length}`) + BODY,
  "a hexadecimal length": head(`content-length: 0x${SIZE}`) + BODY,
  "an empty length": head("content-length:") + BODY,
  "a length beyond 64 bits": head(`content-length: ${WRAPPED}`) + BODY,
  "a coding that only looks like chunks": head("transfer-encoding: xchunked") +
    CHUNKS,
  "an unknown coding beside a length":
    head(LENGTH, "transfer-encoding: xchunked") + BODY,
  "identity beside a length": head(LENGTH, "transfer-encoding: identity") +
    BODY,
  "an empty coding beside a length": head(LENGTH, "transfer-encoding:") + BODY,
  "chunks that are not the last coding":
    head("transfer-encoding: chunked, identity") + CHUNKS,
  "chunks twice": head("transfer-encoding: chunked, chunked") + CHUNKS,
  "an unknown coding behind chunks": head(CHUNKED, "transfer-encoding: x") +
    CHUNKS,
  "a coding behind a vertical tab": head("transfer-encoding: \x0bchunked") +
    CHUNKS,
  "a space before the colon of the coding":
    head(LENGTH, "transfer-encoding : chunked") + BODY,
  "a space before the colon of the length":
    head(`content-length : ${BODY.length}`) + BODY,
  "a folded coding": head("transfer-encoding:\r\n chunked") + CHUNKS,
  "a folded header that hides a length":
    head(LENGTH, "x: y\r\n content-length: 1") + BODY,
  "a bare LF that hides a coding":
    head(LENGTH, "x: y\ntransfer-encoding: chunked") + BODY,
  "a bare CR that hides a coding":
    head(LENGTH, "x: y\rtransfer-encoding: chunked") + BODY,
  "a NUL in a header": head(LENGTH, "x: y\0z") + BODY,
  "a header without a name": head(LENGTH, ": x") + BODY,
  "two hosts": head(LENGTH, "host: b") + BODY,
  "chunks in HTTP/1.0": head(CHUNKED).replace("1.1", "1.0") + CHUNKS,
};

Deno.test("a request that could be read in two ways is refused, and nothing behind it is served", async (t) => {
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

/** The server finds the end of these, but leaves the coding below the chunks alone. */
const CODED: Readonly<Record<string, string>> = {
  "an unknown coding": head("transfer-encoding: x", CHUNKED) + CHUNKS,
  "a compression": head("transfer-encoding: gzip, chunked") + CHUNKS,
};

Deno.test("a body with a coding below its chunks is refused in the caller's protocol", async (t) => {
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

/** Chunks that break the rules; the connection is closed, as nobody knows where a next request would begin. */
const BROKEN_CHUNKS: Readonly<Record<string, string>> = {
  "a bare LF behind a size": `${SIZE}\n${BODY}\n0\n\n`,
  "a bare LF behind an extension": `${SIZE};a\n${BODY}\r\n0\r\n\r\n`,
  "a size with 0x": `0x${SIZE}\r\n${BODY}\r\n0\r\n\r\n`,
  "a negative size": `-${SIZE}\r\n${BODY}\r\n0\r\n\r\n`,
  "a size with a plus": `+${SIZE}\r\n${BODY}\r\n0\r\n\r\n`,
  "a size beyond 64 bits": `1${
    "0".repeat(16 - SIZE.length)
  }${SIZE}\r\n${BODY}\r\n0\r\n\r\n`,
  "no size": `\r\n${BODY}\r\n0\r\n\r\n`,
  "more than its size": `${
    (BODY.length - 1).toString(16)
  }\r\n${BODY}\r\n0\r\n\r\n`,
};

Deno.test("a body in broken chunks is served to nobody, nor is what stands behind it", async (t) => {
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

/** Unusual requests that can be read in one way. */
const SERVED: Readonly<Record<string, string>> = {
  "the same length twice": head(LENGTH, LENGTH) + BODY,
  "a length with zeros before it": head(`content-length: 000${BODY.length}`) +
    BODY,
  "chunks in capitals": head("Transfer-Encoding: CHUNKED") + CHUNKS,
  "chunks with an extension": head(CHUNKED) +
    `${SIZE};a=b\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a length and a credential behind them": head(CHUNKED) +
    `${SIZE}\r\n${BODY}\r\n0\r\ncontent-length: 1\r\nauthorization: Bearer x\r\n\r\n`,
};

Deno.test("a request that is odd and yet clear reaches the upstream once, with its body", async (t) => {
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

Deno.test("a body that looks like a request is none, though the request around it is refused unread", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  using socket = await connectRaw(gateway.port);
  const outer = head(`content-length: ${SECOND.length}`)
    .replace(PATHS.chat, "/v1/nothing");
  const last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  await socket.write(outer + SECOND + last);
  const told = statuses(await socket.readAll());
  assert.equal(told[0], 404);
  assert.equal(upstream.requests.items.length, 0);
});

/** The status of each answer in what came over a socket. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, status]) => Number(status));
}
