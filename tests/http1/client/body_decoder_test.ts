import {
  type BodyDecoder,
  createBodyDecoder,
} from "../../../src/http1/body_decoder.ts";
import { MalformedMessage } from "../../../src/http1/failure.ts";
import type { Framing } from "../../../src/http1/head.ts";
import assert from "node:assert/strict";
import { bytesOf, byteText } from "../../../src/base/streams/bytes.ts";

function decoderOf(framing: Framing): BodyDecoder {
  const decoder = createBodyDecoder(framing);
  assert.ok(decoder);
  return decoder;
}

/** The result of a decoder for the bytes after a head. */
interface Outcome {
  readonly payload: string;
  readonly takenBytes: number;
  readonly isDone: boolean;
  /** The number of returned pieces of payload. */
  readonly pieces: number;
}

/** Gives a decoder pieces until it is done, each in its own memory, as a connection does. */
function decode(framing: Framing, pieces: Iterable<string>): Outcome {
  const decoder = decoderOf(framing);
  const payloads: string[] = [];
  let takenBytes = 0;
  for (const piece of pieces) {
    if (decoder.isDone) break;
    const decoded = decoder.push(Uint8Array.from(bytesOf(piece)));
    takenBytes += decoded.takenBytes;
    if (decoded.payload.length > 0) payloads.push(byteText(decoded.payload));
  }
  return {
    payload: payloads.join(""),
    takenBytes,
    isDone: decoder.isDone,
    pieces: payloads.length,
  };
}

const CHUNKED: Framing = { kind: "chunked" };

function refuses(text: string, name: string): void {
  assert.throws(() => decode(CHUNKED, [text]), MalformedMessage, name);
  assert.throws(() => decode(CHUNKED, text), MalformedMessage, name);
}

function accepts(text: string, payload: string, name: string): void {
  const behind = "HTTP/1.1";
  const expected = { payload, takenBytes: text.length, isDone: true };
  for (let at = 0; at <= text.length; at++) {
    const cut = [text.slice(0, at), text.slice(at) + behind];
    const { pieces: _, ...outcome } = decode(CHUNKED, cut.filter(Boolean));
    assert.deepEqual(outcome, expected, `${name}, cut at ${at}`);
  }
  const { pieces: _, ...outcome } = decode(CHUNKED, text + behind);
  assert.deepEqual(outcome, expected, `${name}, byte by byte`);
}

Deno.test("a response without a body needs no decoder", () => {
  assert.equal(createBodyDecoder({ kind: "none" }), undefined);
  assert.equal(createBodyDecoder({ kind: "length", bytes: 0 }), undefined);
});

Deno.test("a body with a length takes exactly that many bytes", () => {
  const framing: Framing = { kind: "length", bytes: 5 };
  const done = { payload: "hello", takenBytes: 5, isDone: true };
  assert.deepEqual(decode(framing, ["hello, all"]), { ...done, pieces: 1 });
  assert.deepEqual(decode(framing, ["he", "llo"]), { ...done, pieces: 2 });
  assert.equal(decode(framing, ["hell"]).isDone, false);
});

Deno.test("the end of the connection completes only a body without a length", () => {
  assert.ok(decoderOf({ kind: "close" }).end());
  assert.equal(decoderOf({ kind: "length", bytes: 1 }).end(), false);
  const chunked = decoderOf(CHUNKED);
  chunked.push(Uint8Array.from(bytesOf("1\r\na\r\n0\r\n")));
  assert.equal(chunked.end(), false);
  const { payload, isDone } = decode({ kind: "close" }, ["a\r\n\r\n", "b"]);
  assert.deepEqual([payload, isDone], ["a\r\n\r\nb", false]);
});

Deno.test("the chunks in one input are returned as one piece", () => {
  const burst = "3\r\nabc\r\n".repeat(100);
  const { payload, pieces } = decode(CHUNKED, [burst]);
  assert.equal(payload, "abc".repeat(100));
  assert.equal(pieces, 1);
});

Deno.test("malformed chunks are rejected at their first wrong byte", () => {
  const faults = {
    "no size": "\r\n",
    "a size that is no number": "x\r\n",
    "a size with a sign": "+5\r\n",
    "a negative size": "-5\r\n",
    "a size with a prefix": "0x5\r\n",
    "a space before the size": " 5\r\n",
    "a size beyond 13 digits": "10000000000000\r\n",
    "a bare LF behind the size": "5\nhello\r\n",
    "a bare CR behind the size": "5\rhello\r\n",
    "a second CR behind the size": "5\r\r\nhello",
    "an extension without a semicolon": "5 a\r\n",
    "a control character in an extension": "5;a\x01\r\n",
    "a bare CR in an extension": "5;a\rb\r\n",
    "a bare LF behind an extension": "5;a\n",
    "a chunk that is longer than its size": "2\r\nhello\r\n",
    "a chunk that is shorter than its size": "5\r\nhi\r\n0\r\n\r\n",
    "a bare LF behind a chunk": "2\r\nhi\n0\r\n\r\n",
    "a bare CR behind a chunk": "2\r\nhi\r0\r\n\r\n",
    "a trailer without a colon": "0\r\na\r\n\r\n",
    "a trailer with a space before its colon": "0\r\na : 1\r\n\r\n",
    "a folded trailer": "0\r\na: 1\r\n b\r\n\r\n",
    "a bare LF behind a trailer": "0\r\na: 1\n\r\n",
    "a bare LF at the end": "0\r\n\n",
  };
  for (const [name, text] of Object.entries(faults)) refuses(text, name);
});

Deno.test("chunks may have few extensions and trailers", () => {
  const rest = "x".repeat(4 * 1024);
  refuses(`1;${rest}`, "a long extension, its line unfinished");
  const some = `1;${"x".repeat(4000)}\r\na\r\n`;
  accepts(`${some}0\r\n\r\n`, "a", "an extension");
  assert.throws(
    () => decode(CHUNKED, [some.repeat(17)]),
    MalformedMessage,
    "many extensions",
  );
  refuses(`0\r\na: ${rest.repeat(4)}`, "a long trailer, its line unfinished");
  const trailer = `a: ${"x".repeat(1000)}\r\n`;
  const trailers = trailer.repeat(15);
  assert.ok(decode(CHUNKED, [`0\r\n${trailers}\r\n`]).isDone);
  refuses(`0\r\n${trailers}${trailers}`, "many trailers");
});

Deno.test("a decoder does not take the bytes after a body", () => {
  const decoder = decoderOf(CHUNKED);
  const { takenBytes } = decoder.push(
    Uint8Array.from(bytesOf("0\r\n\r\n0\r\n\r\n")),
  );
  assert.equal(takenBytes, 5);
  assert.ok(decoder.isDone);
});
