import { MalformedMessage } from "./failure.ts";
import { joinForWrite } from "./joined_write.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import { bytesOf, byteText, type LongBytes } from "@gateway/base/streams/bytes";

/** The longest head of a response, in bytes. */
const MAX_HEAD_BYTES: number = 64 * 1024;

/** The most fields of a head. */
const MAX_FIELDS = 200;

/** The head of a response. */
export interface ResponseHead {
  /** From 100 to 999. */
  readonly status: number;
  /** Values by names in lower case; the values of a repeated field are joined by commas. */
  readonly headers: HeaderFields;
  readonly framing: Framing;
  /** True when the connection may serve another request afterwards. */
  readonly isKeptAlive: boolean;
}

/** The way in which a response marks the end of its body (RFC 9112, section 6.3). */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** The body ends with the connection. */
  | { readonly kind: "close" };

/** Methods of requests. */
export type Method = "GET" | "POST" | "PUT" | "CONNECT";

const HEAD_END = "\r\n\r\n";

const PROTOCOL = "HTTP/1.";

/**
 * Finds the end of a head.
 *
 * @param bytes All that arrived so far.
 * @param from The start of the search; earlier bytes were searched already.
 * @param isStart Returns true when a head may begin with this text of at most 7 characters; default: the test for a
 * response.
 * @returns The length of the head, its empty line included; `undefined` while the head is incomplete.
 * @throws {MalformedMessage} When the bytes cannot become a head, however they continue.
 */
export function findHeadEnd(
  bytes: Uint8Array,
  from: number,
  isStart: (text: string) => boolean = isResponseStart,
): number | undefined {
  const start = Math.max(0, from - HEAD_END.length + 1);
  const found = byteText(bytes.subarray(start)).indexOf(HEAD_END);
  const length = start + found + HEAD_END.length;
  if (found >= 0 && length <= MAX_HEAD_BYTES) return length;
  if (found >= 0 || bytes.length > MAX_HEAD_BYTES) {
    throw new MalformedMessage("its head is too long");
  }
  refuseHopeless(bytes, from, isStart);
  return undefined;
}

function isResponseStart(text: string): boolean {
  return text === PROTOCOL.slice(0, text.length);
}

/** Rejects at once bytes that cannot become a head. Waiting for the end of such a head would time out. */
function refuseHopeless(
  bytes: Uint8Array,
  from: number,
  isStart: (text: string) => boolean,
): void {
  if (
    from < PROTOCOL.length &&
    !isStart(byteText(bytes.subarray(0, PROTOCOL.length)))
  ) throw notHttp();
  // A CR at the end of the last bytes is checked again, with the byte after it.
  const start = bytes[from - 1] === CR ? from - 1 : from;
  const text = byteText(bytes.subarray(start));
  if (BARE_LINE_END_REGEXP.test(text)) throw badLine();
}

const CR = 0x0d;

/** An LF without a CR, or a CR without an LF. A CR at the very end is accepted, because its LF may still arrive. */
const BARE_LINE_END_REGEXP = /(?<!\r)\n|\r(?!\n|$)/;

const STATUS_LINE_REGEXP =
  /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;

const NAME_REGEXP = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE_REGEXP = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The lower-case form of each known spelling of a name: a cache, because names repeat in every message. */
const knownNames = new Map<string, string>();

/** The most names that are cached, and the greatest length of a cached name. */
const MAX_KNOWN = { names: 1000, length: 64 };

/** Returns true when a field is valid in a head. */
export function isField(name: string, value: string): boolean {
  return lowerName(name) !== undefined && VALUE_REGEXP.test(value);
}

/** Returns the name of a field in lower case; `undefined` when it is malformed. */
function lowerName(name: string): string | undefined {
  const known = knownNames.get(name);
  if (known !== undefined || !NAME_REGEXP.test(name)) return known;
  const lower = name.toLowerCase();
  if (knownNames.size < MAX_KNOWN.names && name.length <= MAX_KNOWN.length) {
    // A slice of a head would keep the whole head in memory.
    knownNames.set(byteText(bytesOf(name)), byteText(bytesOf(lower)));
  }
  return lower;
}

/**
 * Parses the head of a response strictly (RFC 9112, sections 2 to 6): lines end in CRLF, no line is folded, no name is
 * followed by a space, and exactly one rule says where the body ends.
 *
 * @param bytes The head with its empty line.
 * @param method The method of the request. The method decides whether there is a body.
 * @throws {MalformedMessage} When the head breaks a rule.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const bytes = new TextEncoder().encode(
 *   "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
 * );
 * const { status, framing } = parseHead(bytes, "POST");
 * assert.equal(status, 200);
 * assert.deepEqual(framing, { kind: "length", bytes: 5 });
 * ```
 */
export function parseHead(bytes: Uint8Array, method: Method): ResponseHead {
  const text = byteText(bytes.subarray(0, bytes.length - HEAD_END.length));
  const [statusLine = "", ...lines] = text.split("\r\n");
  const found = STATUS_LINE_REGEXP.exec(statusLine);
  if (found === null) {
    throw statusLine.startsWith(PROTOCOL) ? badLine() : notHttp();
  }
  const status = Number(found[2]);
  const isOld = found[1] === "0";
  const headers = parseFields(lines);
  const framing = framingOf({ status, headers, isOld, method });
  return {
    status,
    headers,
    framing,
    isKeptAlive: !isOld && framing.kind !== "close" &&
      !hasToken(headers.get("connection"), "close") &&
      !(status === 204 && announcesBody(headers)),
  };
}

/** Returns true when the fields announce a body. A response with status 204 has no body, but some servers send one. */
function announcesBody(headers: HeaderFields): boolean {
  return headers.has("transfer-encoding") ||
    Number(headers.get("content-length") ?? 0) > 0;
}

/**
 * Parses the fields of a head or of trailers.
 *
 * @throws {MalformedMessage} When a line is no field, or there are too many.
 */
export function parseFields(lines: readonly string[]): Map<string, string> {
  if (lines.length > MAX_FIELDS) {
    throw new MalformedMessage("it has too many header fields");
  }
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = lowerName(line.slice(0, Math.max(0, colon)));
    const text = line.slice(colon + 1);
    if (name === undefined || !VALUE_REGEXP.test(text)) throw badLine();
    const value = trimSpaces(text);
    const before = fields.get(name);
    if (before === undefined) {
      fields.set(name, value);
    } else if (name === "content-length") {
      throw badLength();
    } else if (name === "set-cookie") {
      // The gateway forwards no cookies, so only the last cookie is kept.
      fields.set(name, value);
    } else {
      fields.set(name, `${before}, ${value}`);
    }
  }
  return fields;
}

/**
 * Removes spaces and tabs at both ends. A no-break space stays, because many UTF-8 characters end with the same byte.
 */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (start < end && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Statuses whose responses have no body (RFC 9110, sections 15.2, 15.3.5 and 15.4.5). */
function isBodiless(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

function framingOf(
  { status, headers, isOld, method }: {
    readonly status: number;
    readonly headers: HeaderFields;
    readonly isOld: boolean;
    readonly method: Method;
  },
): Framing {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined && coding !== null) {
    if (isOld || coding.toLowerCase() !== "chunked") {
      throw new MalformedMessage("its transfer encoding is not just chunked");
    }
    if (length !== undefined && length !== null) {
      throw new MalformedMessage(
        "its response has a content-length beside a transfer-encoding",
      );
    }
  }
  const bytes = length === undefined || length === null
    ? undefined
    : parseLength(length);
  const isTunnel = method === "CONNECT" && status >= 200 && status < 300;
  if (isBodiless(status) || isTunnel) return { kind: "none" };
  if (bytes !== undefined) return { kind: "length", bytes };
  return { kind: coding ? "chunked" : "close" };
}

export const LENGTH_REGEXP = /^[0-9]{1,15}$/;

function parseLength(text: string): number {
  if (!LENGTH_REGEXP.test(text)) throw badLength();
  return Number(text);
}

/** Returns true when a comma-separated field has a token, in upper or lower case. */
export function hasToken(
  field: string | null | undefined,
  token: string,
): boolean {
  if (field === undefined || field === null) return false;
  return field.toLowerCase().split(",").some((one) => one.trim() === token);
}

function notHttp(): MalformedMessage {
  return new MalformedMessage("it does not speak HTTP/1.1");
}

function badLine(): MalformedMessage {
  return new MalformedMessage("its head is malformed");
}

function badLength(): MalformedMessage {
  return new MalformedMessage("its content-length is wrong");
}

/** A request without its body. */
export interface OutgoingHead {
  readonly method: Method;
  /** The request target: a path with its query, or an address for a proxy. */
  readonly target: string;
  /** The `host` field. */
  readonly host: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The length of the body in bytes; `undefined` when there is none. */
  readonly bodyBytes: number | undefined;
}

const TARGET_REGEXP = /^[\x21-\x7e]+$/;

/** Headers that only the client may write. A second header of the same name could mean another body or another host. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  "content-length",
  "host",
  "transfer-encoding",
]);

/**
 * Formats the head of a request. Each character becomes one byte (ISO 8859-1), as in `fetch`.
 *
 * @returns The text, its empty line included; each character is one byte.
 * @throws {TypeError} When the target, a name or a value would break the head.
 */
export function formatHead(
  { method, target, host, headers, bodyBytes }: OutgoingHead,
): string {
  if (!TARGET_REGEXP.test(target) || !TARGET_REGEXP.test(host)) {
    throw new TypeError("Cannot send a request: its target is malformed");
  }
  let text = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const [name, value] of headers) {
    const lower = lowerName(name);
    if (lower === undefined || !VALUE_REGEXP.test(value)) {
      throw new TypeError("Cannot send a request: a header is malformed");
    }
    if (OWN_NAMES.has(lower)) {
      throw new TypeError(
        "Cannot send a request: a header repeats its host or its length",
      );
    }
    text += `${name}: ${value}\r\n`;
  }
  return bodyBytes === undefined
    ? `${text}\r\n`
    : `${text}content-length: ${bodyBytes}\r\n\r\n`;
}

/** The length up to which pieces of a body are joined before they are written, in bytes. */
const WRITE_BYTES = 128 * 1024;

/**
 * Joins a head and a body into blocks that are worth a system call each. A short request is one block; a long piece of a
 * body is a block of its own and is not copied.
 */
export function requestBlocks(
  head: string,
  body: Uint8Array | LongBytes | undefined,
): Iterable<Uint8Array> {
  if (body === undefined || body instanceof Uint8Array) {
    const short = body ?? NOTHING;
    const length = head.length + short.length;
    if (length <= WRITE_BYTES) return [joinForWrite(head, [short])];
    return longBlocks(head, [short]);
  }
  return longBlocks(head, body.pieces);
}

function* longBlocks(
  head: string,
  pieces: readonly Uint8Array[],
): Generator<Uint8Array> {
  let next = 0;
  let prefix = head;
  while (prefix !== "" || next < pieces.length) {
    let end = next;
    let bytes = prefix.length;
    for (let piece = pieces[end]; piece !== undefined; piece = pieces[++end]) {
      if (bytes + piece.length > WRITE_BYTES) break;
      bytes += piece.length;
    }
    const [only] = pieces.slice(next, next + 1);
    if (bytes === 0 && only !== undefined) {
      yield only;
      next++;
      continue;
    }
    yield joinForWrite(prefix, pieces.slice(next, end));
    prefix = "";
    next = end;
  }
}

const NOTHING = new Uint8Array();
