import { MalformedMessage } from "../../../src/http1/failure.ts";
import {
  findHeadEnd,
  formatHead,
  type OutgoingHead,
  parseHead,
  type ResponseHead,
} from "../../../src/http1/head.ts";
import assert from "node:assert/strict";
import { bytesOf, byteText } from "../../../src/base/streams/bytes.ts";

/** Parses the head of a response from its lines. */
function parse(...lines: readonly string[]): ResponseHead {
  return parseHead(bytesOf(`${lines.join("\r\n")}\r\n\r\n`), "POST");
}

/** Parses the head of a 200 with these fields. */
function parseFields(...lines: readonly string[]): ResponseHead {
  return parse("HTTP/1.1 200 OK", ...lines);
}

function refuses(lines: readonly string[], why: RegExp): void {
  assert.throws(
    () => parse(...lines),
    (error) => error instanceof MalformedMessage && why.test(error.message),
    JSON.stringify(lines),
  );
}

/** Searches for the end of a head that arrives in pieces, as a connection does. */
function searchIn(pieces: readonly string[]): number | undefined {
  let text = "";
  for (const piece of pieces) {
    const from = text.length;
    text += piece;
    const end = findHeadEnd(bytesOf(text), from);
    if (end !== undefined) return end;
  }
  return undefined;
}

Deno.test("the end of a head is found in any pieces", () => {
  const head = "HTTP/1.1 200 OK\r\na: 1\r\nb: 2\r\n\r\n";
  const text = `${head}body`;
  for (let at = 1; at < text.length; at++) {
    assert.equal(searchIn([text.slice(0, at), text.slice(at)]), head.length);
  }
  assert.equal(searchIn([...text]), head.length);
});

Deno.test("bytes that cannot become a head are rejected before its end arrives", () => {
  const hopeless = {
    "another protocol": "SSH-2.0-x\r\n",
    "a newer protocol": "HTTP/2 200\r\n",
    "an empty line in front": "\r\nHTTP/1.1 200 OK\r\n",
    "a bare LF": "HTTP/1.1 200 OK\n",
    "a bare CR": "HTTP/1.1 200 OK\rx",
    "a bare LF between fields": "HTTP/1.1 200 OK\r\na: 1\nb: 2",
    "two LF": "HTTP/1.1 200 OK\r\n\n",
  };
  for (const [name, text] of Object.entries(hopeless)) {
    assert.throws(() => searchIn([text]), MalformedMessage, name);
    assert.throws(() => searchIn([...text]), MalformedMessage, name);
  }
});

Deno.test("a head may be 64 KiB long", () => {
  const frame = "HTTP/1.1 200 OK\r\na: \r\n\r\n";
  const longest = frame.replace(
    "a: ",
    `a: ${"x".repeat(64 * 1024 - frame.length)}`,
  );
  assert.equal(searchIn([longest]), 64 * 1024);
  const longer = longest.replace("a: ", "a: x");
  assert.throws(() => searchIn([longer]), MalformedMessage);
  const endless = longest.slice(0, -4) + "xxxxx";
  assert.throws(() => searchIn([endless]), MalformedMessage);
});

Deno.test("a head may have 200 fields", () => {
  const lines = Array.from({ length: 200 }, (_, at) => `a${at}: ${at}`);
  assert.equal(parseFields(...lines).headers.get("a199"), "199");
  refuses(["HTTP/1.1 200 OK", ...lines, "b: 1"], /too many header fields/);
});

Deno.test("a field is a name, a colon and a value without the spaces around it", () => {
  const { headers } = parseFields(
    "Content-Type: text/plain",
    "a:1",
    "b:\t 2 \t",
    "c:",
    "d:    ",
    "e: x  y",
    "__proto__: f",
    "g: \xc3\xa9",
    "h: \xc3\xa0",
  );
  assert.deepEqual(
    ["content-type", "a", "b", "c", "d", "e", "__proto__", "g", "h"]
      .map((name) => headers.get(name)),
    ["text/plain", "1", "2", "", "", "x  y", "f", "\xc3\xa9", "\xc3\xa0"],
  );
});

Deno.test("a long line is parsed in one pass, with any ending", () => {
  const spaces = " ".repeat(60_000);
  const many = { regular: `a:${spaces}x`, "inner": `a: x${spaces}x` };
  for (const line of Object.values(many)) {
    assert.equal(parseFields(line).headers.get("a")?.at(-1), "x");
  }
  // An algorithm of quadratic time takes seconds here, and slows the suite's other tests.
  refuses(["HTTP/1.1 200 OK", `a:${spaces}\x01`], /malformed/);
});

Deno.test("the values of a repeated field are joined, and the last set-cookie is kept", () => {
  const { headers } = parseFields("a: 1", "A: 2", "a:", "set-cookie: x=1, y");
  assert.equal(headers.get("a"), "1, 2, ");
  assert.equal(headers.get("set-cookie"), "x=1, y");
  const twice = parseFields("set-cookie: x=1", "set-cookie: x=2");
  assert.equal(twice.headers.get("set-cookie"), "x=2");
});

Deno.test("a response that cannot have a body has none, whatever its fields are", () => {
  for (const status of [100, 103, 204, 304]) {
    for (const line of ["content-length: 5", "transfer-encoding: chunked"]) {
      const { framing } = parse(`HTTP/1.1 ${status} x`, line);
      assert.deepEqual(framing, { kind: "none" });
    }
  }
  const tunnel = bytesOf("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
  assert.deepEqual(parseHead(tunnel, "CONNECT").framing, { kind: "none" });
});

Deno.test("a connection is kept when both sides speak HTTP/1.1 and none requests its close", () => {
  const length = "content-length: 2";
  assert.ok(parseFields(length).isKeptAlive);
  assert.ok(parseFields(length, "connection: keep-alive").isKeptAlive);
  const closed = [
    parseFields(),
    parseFields(length, "connection: close"),
    parseFields(length, "connection: Keep-Alive , CLOSE"),
    parseFields(length, "connection: keep-alive", "connection: close"),
    parse("HTTP/1.0 200 OK", length),
    parse("HTTP/1.0 200 OK", length, "connection: keep-alive"),
  ];
  for (const head of closed) assert.equal(head.isKeptAlive, false);
});

Deno.test("a connection is closed after a 204 that announces a body, because the body may follow", () => {
  const NO_CONTENT = "HTTP/1.1 204 No Content";
  for (const line of ["content-length: 2", "transfer-encoding: chunked"]) {
    assert.equal(parse(NO_CONTENT, line).isKeptAlive, false);
  }
  assert.ok(parse(NO_CONTENT).isKeptAlive);
  assert.ok(parse(NO_CONTENT, "content-length: 0").isKeptAlive);
  // The content-length of a 304 is that of the body that was not sent again.
  assert.ok(parse("HTTP/1.1 304 x", "content-length: 2").isKeptAlive);
});

const GET: OutgoingHead = {
  method: "GET",
  target: "/v1/models?a=b",
  host: "api.example.com:8443",
  headers: [],
  bodyBytes: undefined,
};

Deno.test("a request has its host, its headers in their order and the length of its body", () => {
  assert.equal(
    formatHead(GET),
    "GET /v1/models?a=b HTTP/1.1\r\nhost: api.example.com:8443\r\n\r\n",
  );
  assert.equal(
    formatHead({
      method: "POST",
      target: "http://a/b",
      host: "a",
      headers: [["X-B", "2"], ["x-a", ""], ["x-b", "\xe9\t"]],
      bodyBytes: 0,
    }),
    "POST http://a/b HTTP/1.1\r\nhost: a\r\nX-B: 2\r\nx-a: \r\nx-b: \xe9\t\r\n" +
      "content-length: 0\r\n\r\n",
  );
});

Deno.test("a request that would break its head is not sent", () => {
  const broken: readonly Partial<OutgoingHead>[] = [
    { target: "/a b" },
    { target: "/a\r\nb: c" },
    { target: "/\xe9" },
    { target: "" },
    { host: "" },
    { host: "a\r\nb: c" },
    { headers: [["a b", "c"]] },
    { headers: [["", "c"]] },
    { headers: [["a:", "c"]] },
    { headers: [["a", "b\r\nc: d"]] },
    { headers: [["a", "b\nc"]] },
    { headers: [["a", "b\x00"]] },
    { headers: [["a", "\u20ac"]] },
  ];
  for (const part of broken) {
    assert.throws(() => formatHead({ ...GET, ...part }), TypeError);
  }
});

Deno.test("formatHead() rejects headers that only the client may write", () => {
  for (const name of ["Host", "content-length", "Transfer-Encoding"]) {
    assert.throws(
      () => formatHead({ ...GET, headers: [[name, "5"]], bodyBytes: 7 }),
      TypeError,
      name,
    );
  }
});

Deno.test("each character of a head is one byte", () => {
  const every = Array.from({ length: 128 }, (_, at) => 128 + at);
  const text = String.fromCharCode(...every);
  assert.equal(byteText(bytesOf(text)), text);
  assert.equal(parseFields(`a: ${text}`).headers.get("a"), text);
});
