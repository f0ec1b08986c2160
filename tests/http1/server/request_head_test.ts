import {
  findRequestEnd,
  parseRequestHead,
} from "../../../src/http1/server/request_head.ts";
import { MalformedMessage } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { bytesOf } from "../../../src/base/streams/bytes.ts";
import { steps } from "../../support/steps.ts";

function parse(...lines: readonly string[]) {
  return parseRequestHead(bytesOf([...lines, "", ""].join("\r\n")));
}

const POST = "POST /v1/x?y=1 HTTP/1.1";
const HOST = "host: a";

Deno.test("parseRequestHead() returns the method, target, headers and framing", () => {
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

Deno.test("the end of a body is unambiguous", async (t) => {
  await steps(
    t,
    Object.entries(FRAMINGS),
    ([, [lines, kind]]) =>
      assert.equal(parse(POST, HOST, ...lines).framing.kind, kind),
  );
});

const PERSISTENCE: Readonly<Record<string, readonly [string[], boolean]>> = {
  "HTTP/1.1": [[POST, HOST], true],
  "HTTP/1.1 that closes": [[POST, HOST, "connection: x, Close"], false],
  "HTTP/1.0": [["GET / HTTP/1.0"], false],
  "HTTP/1.0 that would stay": [
    ["GET / HTTP/1.0", "connection: keep-alive"],
    false,
  ],
};

Deno.test("a socket is kept for HTTP/1.1 unless the caller closes it", async (t) => {
  await steps(
    t,
    Object.entries(PERSISTENCE),
    ([, [lines, expected]]) =>
      assert.equal(parse(...lines).isKeptAlive, expected),
  );
});

Deno.test("a caller that expects a 100 holds its body back, if it has one", () => {
  const expect = "Expect: 100-Continue";
  const awaits = (...lines: readonly string[]) =>
    parse(POST, HOST, ...lines).awaitsContinue;
  assert.equal(awaits(expect, "content-length: 1"), true);
  assert.equal(awaits(expect), false);
  assert.equal(awaits("content-length: 1"), false);
});

/** Faults of the first line, of codings and of whole heads; `framing.ts` has those of lengths and fields. */
const REFUSED: Readonly<Record<string, readonly [string[], RegExp]>> = {
  "another protocol": [["SSH-2.0"], /does not begin as HTTP\/1\.1/],
  "HTTP/2": [["PRI * HTTP/2.0"], /does not begin/],
  "HTTP/0.9": [["GET /"], /does not begin/],
  "two spaces": [["GET  / HTTP/1.1"], /does not begin/],
  "a space in the target": [["GET /a b HTTP/1.1"], /does not begin/],
  "a control in the target": [["GET /\x01 HTTP/1.1"], /does not begin/],
  "no target": [["GET HTTP/1.1"], /does not begin/],
  "two hosts": [[POST, HOST, "host: b"], /several host headers/],
  "the same host twice": [[POST, HOST, HOST], /several host headers/],
  "a host and an empty one": [[POST, HOST, "host:"], /several host headers/],
  "two hosts in HTTP/1.0": [
    ["GET / HTTP/1.0", HOST, "host: b"],
    /several host headers/,
  ],
  "no host": [[POST], /has no host header\. Send one$/],
  "no host beside an absolute target": [
    ["GET http://a/v1/models HTTP/1.1"],
    /has no host header/,
  ],
  "an invalid host in HTTP/1.0": [
    ["GET / HTTP/1.0", "host: a/b"],
    /host header is no host/,
  ],
  "a fragment in the target": [
    ["GET /v1/models#x HTTP/1.1", HOST],
    /target has a fragment\. Remove it$/,
  ],
  "a fragment in HTTP/1.0": [["GET /# HTTP/1.0"], /target has a fragment/],
  "a fragment in an absolute target": [
    ["GET http://a/v1/models?x#y HTTP/1.1", HOST],
    /target has a fragment/,
  ],
  // Their bodies are rejected, too, so that the status does not show whether the head was.
  "an unknown coding": [[POST, HOST, "transfer-encoding: x"], /end in chunk/],
  "chunks that are not last": [
    [POST, HOST, "transfer-encoding: chunked, x"],
    /end in chunked/,
  ],
  "chunks twice": [
    [POST, HOST, "transfer-encoding: chunked, chunked"],
    /end in chunked/,
  ],
  "a coding whose name ends in chunked": [
    [POST, HOST, "transfer-encoding: xchunked"],
    /end in/,
  ],
  "201 headers": [
    [POST, ...Array.from({ length: 201 }, (_, n) => `x-${n}: a`)],
    /too many header fields/,
  ],
};

Deno.test("an ambiguous or malformed head is refused with its fault", async (t) => {
  await steps(t, Object.entries(REFUSED), ([, [lines, fault]]) => {
    const head = parse(...lines);
    assert.match(head.fault ?? "", fault);
    assert.equal(head.isKeptAlive, false);
  });
});

const HOSTS = {
  good: [
    ...["", "a", "a.example", "A-1_b.example:8787", "service.1:80", "a:"],
    ...["127.0.0.1:1", "[::1]", "[2001:db8::7]:8787", "x%20y"],
  ],
  bad: [
    ...["a b", "a/b", "a?b", "a#b", "a@b", "a\\b", "a,b", "a:b", "a:1:2"],
    ...["a:123456", "http://a", "::1", "[::1", "[x]", "[:::]", "%", "%zz"],
    ...['"a"', "<a>", "a|b", "\xe9"],
  ],
};

Deno.test("a host header holds a host with or without a port, or nothing", async (t) => {
  const faultOf = (host: string) => parse(POST, `host: ${host}`).fault;
  await steps(t, HOSTS.good.map((host) => `"${host}"`), (name) => {
    assert.equal(faultOf(name.slice(1, -1)), undefined);
  });
  await steps(t, HOSTS.bad.map((host) => `'${host}'`), (name) => {
    assert.match(faultOf(name.slice(1, -1)) ?? "", /host header/);
  });
});

Deno.test("HTTP/1.0 needs no host, and a target may have any form without a fragment", async (t) => {
  const rows = [
    "GET /v1/models?x HTTP/1.0",
    "GET http://a.example:80/v1/models HTTP/1.0",
    "GET HTTPS://a?x HTTP/1.0",
    "GET http://[::1]:8787 HTTP/1.0",
    "OPTIONS * HTTP/1.0",
    "CONNECT a.example:443 HTTP/1.0",
  ];
  await steps(t, rows, (row) => assert.equal(parse(row).fault, undefined));
});

Deno.test("bytes that cannot become a head are refused before its end", () => {
  assert.equal(findRequestEnd(bytesOf("POST"), 0), undefined);
  assert.equal(findRequestEnd(bytesOf("GET / HT"), 0), undefined);
  assert.equal(findRequestEnd(bytesOf("GET / HTTP/1.1\r\n\r\nx"), 0), 18);
  for (const text of ["\x16\x03\x01", "get /", "GET / HTTP/1.1\nhost: a"]) {
    assert.throws(() => findRequestEnd(bytesOf(text), 0), MalformedMessage);
  }
});
