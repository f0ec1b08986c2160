import { ALICE_TOKEN } from "../gateway/config.ts";
import { hello, PATHS } from "./ask.ts";

/** Returns the head of a Chat Completions request with these additional lines. */
export function head(...lines: readonly string[]): string {
  return [
    `POST ${PATHS.chat} HTTP/1.1`,
    "host: a",
    "content-type: application/json",
    `authorization: Bearer ${ALICE_TOKEN}`,
    ...lines,
    "\r\n",
  ].join("\r\n");
}

/** The body of every request here. */
export const BODY = hello("chat");
/** The body's length as a chunk size. */
export const SIZE = BODY.length.toString(16);
/** The body's length as a header. */
export const LENGTH = `content-length: ${BODY.length}`;
/** The header of a chunked body. */
export const CHUNKED = "transfer-encoding: chunked";
/** The body in one chunk. */
export const CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;

/** A second request, which a wrong reading of the first request's length would find. */
export const SECOND = head(LENGTH, "connection: close") + BODY;

const WRAPPED = 2n ** 64n + BigInt(BODY.length);

/** Requests that two servers could read differently, by their fault. */
export const REFUSED: Readonly<Record<string, string>> = {
  "a length and chunks": head("content-length: 5", CHUNKED) + "0\r\n\r\n",
  "chunks and a length": head(CHUNKED, "content-length: 4") + CHUNKS,
  "two lengths": head(LENGTH, "content-length: 1") + BODY,
  "two lengths, the shorter first": head("content-length: 1", LENGTH) + BODY,
  "the same length twice": head(LENGTH, LENGTH) + BODY,
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

/**
 * Invalid chunks. The gateway closes the connection, because the start of a next request is
 * unknown.
 */
export const BROKEN_CHUNKS: Readonly<Record<string, string>> = {
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

/** Returns the status of each response in the received text. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, status]) => Number(status));
}
