import assert from "node:assert/strict";
import {
  findRequestEnd,
  parseRequestHead,
} from "../../../src/http/server/request_head.ts";
import { bytesOf } from "../../../src/streams/bytes.ts";
import { MalformedMessage } from "../../../src/upstream/http1/failure.ts";
import { steps } from "../../support/steps.ts";

function parse(...lines: readonly string[]) {
  return parseRequestHead(bytesOf([...lines, "", ""].join("\r\n")));
}

const POST = "POST /v1/x?y=1 HTTP/1.1";

Deno.test("a request's head gives its method, target, headers and framing", () => {
  const head = parse(POST, "Host: a", "X: 1", "x: 2", "Content-Length: 007");
  assert.equal(head.method, "POST");
  assert.equal(head.target, "/v1/x?y=1");
  assert.deepEqual([...head.headers], [
    ["host", "a"],
    ["x", "1, 2"],
    ["content-length", "007"],
  ]);
  assert.deepEqual(head.framing, { kind: "length", bytes: 7 });
  assert.equal(head.isKeptAlive, true);
});

const FRAMINGS: Readonly<Record<string, readonly [string[], string]>> = {
  "no length and no coding": [[], "none"],
  "chunks": [["transfer-encoding: chunked"], "chunked"],
  "chunks in capitals": [["transfer-encoding: CHUNKED"], "chunked"],
  "chunks above another coding": [
    ["transfer-encoding: gzip, chunked"],
    "chunked",
  ],
  "chunks in a second header": [
    ["transfer-encoding: gzip", "transfer-encoding: chunked"],
    "chunked",
  ],
};

Deno.test("the end of a body has one reading", async (t) => {
  await steps(
    t,
    Object.entries(FRAMINGS),
    ([, [lines, kind]]) =>
      assert.equal(parse(POST, ...lines).framing.kind, kind),
  );
});

const PERSISTENCE: Readonly<Record<string, readonly [string[], boolean]>> = {
  "HTTP/1.1": [[POST], true],
  "HTTP/1.1 that closes": [[POST, "connection: x, Close"], false],
  "HTTP/1.0": [["GET / HTTP/1.0"], false],
  "HTTP/1.0 that would stay": [
    ["GET / HTTP/1.0", "connection: keep-alive"],
    false,
  ],
};

Deno.test("a socket is kept for HTTP/1.1 whose caller does not close it", async (t) => {
  await steps(
    t,
    Object.entries(PERSISTENCE),
    ([, [lines, expected]]) =>
      assert.equal(parse(...lines).isKeptAlive, expected),
  );
});

Deno.test("a caller that expects a 100 holds its body back, where it has one", () => {
  const expect = "Expect: 100-Continue";
  assert.equal(parse(POST, expect, "content-length: 1").awaitsContinue, true);
  assert.equal(parse(POST, expect).awaitsContinue, false);
  assert.equal(parse(POST, "content-length: 1").awaitsContinue, false);
});

/** Faults of the first line, of codings and of the whole; `framing.ts` has those of lengths and fields. */
const REFUSED: Readonly<Record<string, readonly [string[], RegExp]>> = {
  "another protocol": [["SSH-2.0"], /does not begin as HTTP\/1\.1/],
  "HTTP/2": [["PRI * HTTP/2.0"], /does not begin/],
  "HTTP/0.9": [["GET /"], /does not begin/],
  "two spaces": [["GET  / HTTP/1.1"], /does not begin/],
  "a space in the target": [["GET /a b HTTP/1.1"], /does not begin/],
  "a control in the target": [["GET /\x01 HTTP/1.1"], /does not begin/],
  "no target": [["GET HTTP/1.1"], /does not begin/],
  "two hosts": [[POST, "host: a", "host: b"], /several host headers/],
  // The body is rejected for these, too, so that no status shows who did it.
  "an unknown coding": [[POST, "transfer-encoding: x"], /end in chunked/],
  "chunks that are not last": [
    [POST, "transfer-encoding: chunked, x"],
    /end in chunked/,
  ],
  "chunks twice": [
    [POST, "transfer-encoding: chunked, chunked"],
    /end in chunked/,
  ],
  "what ends like chunks": [[POST, "transfer-encoding: xchunked"], /end in/],
  "201 headers": [
    [POST, ...Array.from({ length: 201 }, (_, n) => `x-${n}: a`)],
    /too many header fields/,
  ],
};

Deno.test("a head with more than one reading, or none, is refused with its fault", async (t) => {
  await steps(t, Object.entries(REFUSED), ([, [lines, fault]]) => {
    const head = parse(...lines);
    assert.match(head.fault ?? "", fault);
    assert.equal(head.isKeptAlive, false);
  });
});

Deno.test("what cannot become a head is refused before its end", () => {
  assert.equal(findRequestEnd(bytesOf("POST"), 0), undefined);
  assert.equal(findRequestEnd(bytesOf("GET / HT"), 0), undefined);
  assert.equal(findRequestEnd(bytesOf("GET / HTTP/1.1\r\n\r\nx"), 0), 18);
  for (const text of ["\x16\x03\x01", "get /", "GET / HTTP/1.1\nhost: a"]) {
    assert.throws(() => findRequestEnd(bytesOf(text), 0), MalformedMessage);
  }
});
