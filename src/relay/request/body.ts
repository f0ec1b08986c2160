import { GatewayError } from "../../core/error.ts";
import type { HeaderFields } from "../../core/header_fields.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import { Turns } from "../../core/time/turns.ts";
import {
  decompress as inflate,
  readContentEncoding,
} from "../../streams/decompress.ts";
import { LongBytes } from "../../streams/bytes.ts";
import {
  readPieces,
  TooLongError,
  WrongLengthError,
} from "../../streams/read_pieces.ts";
import { CallerLeft } from "../../upstream/call.ts";
import type { MemoryShare } from "./body_memory.ts";
import type { HeldBody } from "./held_body.ts";

/** Where a caller's body comes from. */
export interface BodySource {
  readonly request: Request;
  /** The request's. */
  readonly headers: HeaderFields;
}

/** How a caller's body is read. */
interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** The route's limit in bytes, which counts after decompression too. */
  readonly maxBytes: number;
  /** How long the body may take to arrive, in milliseconds; 0 means forever. */
  readonly deadlineMs: number;
  /** What the body takes of memory is taken of it as it comes. */
  readonly memory: Pick<MemoryShare, "begin" | "take" | "give">;
  /** Sees the body piece by piece as it comes; must neither change nor keep it. */
  readonly onPiece: (piece: Uint8Array<ArrayBuffer>) => void;
}

/**
 * So much is asked for at once, in bytes: for as long as a request runs, `Deno.serve` keeps a buffer as long as the
 * most that it was asked for, and mostly another one. A body of 100 KB that was read by one call costs its stream
 * 226 KiB, read so it costs 32.
 */
const READ_BYTES = 16 * 1024;

/** A body that is no longer than this is one array. Of a longer one, `fetch` makes two copies; it stays in pieces. */
const SHORT_BYTES = 256 * 1024;

/** Of a long body; shorter ones come and go more slowly. */
const PIECE_BYTES = 1024 * 1024;

/** So much of a piece is looked through at once. */
const PART_BYTES = 64 * 1024;

/**
 * Reads a caller's body whole and undoes its content encoding. A body that says it is too long is refused
 * before it is read; one that does not say is refused as soon as it is (docs/design.md#paths).
 *
 * @throws {GatewayError} `body_too_large`, `body_timeout`, `unsupported_media_type`, `overloaded` when there is no
 * memory for it, or `invalid_request` when it does not match its content encoding or its length, or has a transfer
 * encoding other than chunks.
 * @throws {CallerLeft} When the connection breaks meanwhile.
 */
export async function readBody(
  source: BodySource,
  options: ReadBodyOptions,
): Promise<HeldBody> {
  const { request, headers } = source;
  checkBodyHeaders(headers);
  const declared = declaredBytes(headers);
  if (declared !== undefined && declared > options.maxBytes) {
    throw tooLarge(options.maxBytes);
  }
  const encoding = headers.get("content-encoding");
  const isPlain = declared !== undefined && isIdentity(encoding);
  try {
    return isPlain && declared <= READ_BYTES
      ? await readAtOnce(request, declared, options)
      : await readPatiently(source, isPlain ? declared : undefined, options);
  } catch (error) {
    throw bodyError(error, options.maxBytes, headers);
  }
}

async function readAtOnce(
  request: Request,
  length: number,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  options.memory.take(length);
  const whole = await inTime(request.bytes(), options);
  if (whole.length !== length) throw new WrongLengthError();
  options.onPiece(whole);
  return whole;
}

function inTime<Body>(
  reading: Promise<Body>,
  { deadlines, deadlineMs }: ReadBodyOptions,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const cancel = deadlines.start(deadlineMs, () => reject(bodyTimeout()));
    reading.then(
      (body) => {
        cancel();
        resolve(body);
      },
      (error) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** @param length How long the body is, in bytes; `undefined` where that shows only when it has been read. */
async function readPatiently(
  { request: { body }, headers }: BodySource,
  length: number | undefined,
  options: ReadBodyOptions,
): Promise<HeldBody> {
  const { memory, deadlines, deadlineMs } = options;
  if (body === null) return new Uint8Array();
  const controller = new AbortController();
  const end = memory.begin(
    length ?? 0,
    (error) => controller.abort(error),
  );
  const cancel = deadlines.start(
    deadlineMs,
    () => controller.abort(bodyTimeout()),
  );
  try {
    const encoding = headers.get("content-encoding");
    const plain = isIdentity(encoding) ? body : decompress(body, encoding);
    const { signal } = controller;
    return await readLong(plain, length, { ...options, signal });
  } finally {
    cancel();
    end();
  }
}

/** How a body is read until it is given up. */
interface Reading extends ReadBodyOptions {
  readonly signal: AbortSignal;
}

async function readLong(
  body: ReadableStream<Uint8Array>,
  length: number | undefined,
  { maxBytes, memory, onPiece, signal }: Reading,
): Promise<HeldBody> {
  const turns = new Turns();
  const pieces = await readPieces(body, {
    length,
    maxBytes,
    memory,
    pieceBytes: PIECE_BYTES,
    // A body of many pieces is rare, and takes a quarter more time so.
    readBytes: (length ?? 0) < PIECE_BYTES ? READ_BYTES : PIECE_BYTES,
    onPiece: (piece) => show(piece, onPiece, turns),
    signal,
  });
  const whole = new LongBytes(pieces);
  return whole.length <= SHORT_BYTES ? whole.join() : whole;
}

/** Looking through a part takes a few milliseconds, whatever it holds; others have their turn behind it. */
async function show(
  piece: Uint8Array<ArrayBuffer>,
  onPiece: Reading["onPiece"],
  turns: Turns,
): Promise<void> {
  for (let start = 0; start < piece.length; start += PART_BYTES) {
    const part = piece.subarray(start, start + PART_BYTES);
    onPiece(part);
    turns.count(part.length);
    await turns.next();
  }
}

/** Whatever else the platform throws is a broken connection or chunk. */
function bodyError(
  error: unknown,
  maxBytes: number,
  headers: HeaderFields,
): unknown {
  if (error instanceof GatewayError || error instanceof CallerLeft) {
    return error;
  }
  if (error instanceof TooLongError) return tooLarge(maxBytes);
  if (error instanceof WrongLengthError) return wrongLength(error);
  if (headers.has("transfer-encoding") && mayBeMalformed(error)) {
    return malformedChunks(error);
  }
  return new CallerLeft("The caller's body broke off", { cause: error });
}

/**
 * Whether the platform may mean a malformed chunk. Deno 2.9 has a message for it alone; Deno 2.7 throws one error for
 * that and for a caller who left, whom an answer does not reach.
 */
function mayBeMalformed(error: unknown): boolean {
  return error instanceof Error &&
    (error.name === "Http" || /invalid HTTP/.test(error.message));
}

function malformedChunks(cause: unknown): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: its chunks are malformed or break off, send a content-length instead",
    { headers: { connection: "close" }, cause },
  );
}

function tooLarge(maxBytes: number): GatewayError {
  const most = `${maxBytes / (1024 * 1024)} MiB`;
  return new GatewayError(
    "body_too_large",
    `Cannot take a body of this size: this path takes up to ${most}, send less`,
    { code: "request_too_large", limit: `${most} a request body` },
  );
}

/** A server never lets this through; a handler that is called otherwise may. */
function wrongLength(cause: WrongLengthError): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: it is not as long as its content-length header says, send the right length or none",
    { cause },
  );
}

/**
 * Asks the caller to close the connection (RFC 9110, section 15.5.9). `Deno.serve` closes none of which a body has not
 * come, unless the answer itself is broken off.
 */
function bodyTimeout(): GatewayError {
  return new GatewayError(
    "body_timeout",
    "Cannot wait for the body any longer: it did not arrive in time, send it again",
    { headers: { connection: "close" } },
  );
}

/**
 * Undoes the content encoding of a caller's body while it is read.
 *
 * @param encoding The `content-encoding` header; none, an empty one or `identity` leaves the body as it is.
 * @throws {GatewayError} `unsupported_media_type` for any other encoding; while reading,
 * `invalid_request` when the body does not keep to its encoding.
 */
export function decompress(
  body: ReadableStream<Uint8Array>,
  encoding: string | null | undefined,
): ReadableStream<Uint8Array> {
  const name = readContentEncoding(encoding);
  if (name === undefined) throw unsupportedEncoding();
  return name === "identity" ? body : inflate(body, name, { mismatch });
}

/** Whether the body arrives as the caller wrote it. */
export function isIdentity(encoding: string | null | undefined): boolean {
  return readContentEncoding(encoding) === "identity";
}

function mismatch(cause: unknown): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot decompress the body: it does not match its content-encoding header",
    { cause },
  );
}

function unsupportedEncoding(): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content encoding is unknown, use identity, gzip, deflate, br or zstd",
    { headers: { "accept-encoding": "gzip, deflate, br, zstd" } },
  );
}

/**
 * Refuses a request that two servers may read in two ways (RFC 9112, sections 3.2 and 6.1). Deno 2.9 refuses these
 * itself, Deno 2.7 serves them. The connection closes, since another server may see another end of this request.
 *
 * @throws {GatewayError} `invalid_request` for a body with a length and in chunks, and for two hosts.
 */
export function refuseAmbiguous(headers: HeaderFields): void {
  if (headers.has("content-length") && headers.has("transfer-encoding")) {
    throw ambiguous(
      "it has a content-length and a transfer-encoding, send one of them",
    );
  }
  // The platform joins the values of a repeated header so.
  if (headers.get("host")?.includes(", ")) {
    throw ambiguous("it has several host headers, send one");
  }
}

function ambiguous(why: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot read the request: ${why}`,
    { headers: CLOSE },
  );
}

const CLOSE = { connection: "close" };

/**
 * Refuses a caller's body that is nothing the gateway reads, before it is read.
 *
 * @throws {GatewayError} `unsupported_media_type` for another content type than JSON in UTF-8, `invalid_request` for a
 * transfer encoding other than chunks.
 */
function checkBodyHeaders(headers: HeaderFields): void {
  checkContentType(headers.get("content-type"));
  checkTransferEncoding(headers.get("transfer-encoding"));
}

/** How long a caller's body is, in bytes, as far as its headers say. */
function declaredBytes(headers: HeaderFields): number | undefined {
  const value = headers.get("content-length");
  return value && /^\d+$/.test(value) ? Number(value) : undefined;
}

/**
 * A missing type is taken as JSON; a wrong one is refused before it surprises somebody. JSON in another encoding
 * than UTF-8 (RFC 8259, section 8.1) could say other things to an upstream than were read here.
 */
function checkContentType(value: string | null | undefined): void {
  if (value === null || value === undefined) return;
  if (JSON_TYPE_REGEXP.test(value) && isUtf8(value)) return;
  throw new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content type is not JSON in UTF-8, send content-type: application/json",
  );
}

const JSON_TYPE_REGEXP = /^\s*(application|text)\/([\w.+-]+\+)?json\s*(;|$)/i;

function isUtf8(contentType: string): boolean {
  return [...contentType.matchAll(CHARSET_REGEXP)]
    .every(([, charset = ""]) => UTF_8_REGEXP.test(charset.trim()));
}

/** Every parameter whose name begins so, with its value. */
const CHARSET_REGEXP = /charset([^;]*)/gi;

const UTF_8_REGEXP = /^=\s*(utf-?8|"utf-?8")$/i;

/**
 * The server undoes chunks and leaves every other coding in the body, where somebody before it may have undone
 * that, too (RFC 9112, section 6.1).
 */
function checkTransferEncoding(value: string | null | undefined): void {
  if ((value ?? "chunked").toLowerCase() === "chunked") return;
  throw new GatewayError(
    "invalid_request",
    "Cannot read the body: its transfer encoding is more than chunks, send transfer-encoding: chunked or a content-length",
    { headers: CLOSE },
  );
}
