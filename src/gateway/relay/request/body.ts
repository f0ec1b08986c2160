import { type IncomingRequest, MalformedMessage } from "@gateway/http1";
import { CallerLeft } from "../../upstream/call.ts";
import { GatewayError } from "@gateway/base/error";
import type { HeaderFields } from "@gateway/base/header_fields";
import { type Deadlines, orNever, within } from "@gateway/base/time/deadlines";
import { LoopTurns } from "@gateway/base/time/turns";
import type { ByteSource } from "@gateway/base/streams/byte_reader";
import {
  decompress as inflate,
  readContentEncoding,
} from "@gateway/base/streams/decompress";
import { LongBytes } from "@gateway/base/streams/bytes";
import {
  readPieces,
  TooLongError,
  WrongLengthError,
} from "@gateway/base/streams/read_pieces";
import type { MemoryShare } from "./body_memory.ts";
import type { HeldBody } from "./held_body.ts";

/** A request whose body is read. */
interface BodySource {
  readonly request: IncomingRequest;
  readonly headers: HeaderFields;
}

interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** The route's limit in bytes, before and after decompression. */
  readonly maxBytes: number;
  /** The timeout for the whole body, in milliseconds; 0 means none. */
  readonly deadlineMs: number;
  /** The memory budget. It is charged for each chunk that arrives. */
  readonly memory: Pick<MemoryShare, "begin" | "take" | "give">;
  /** Receives each chunk. This function must not change or keep the chunk. */
  readonly onChunk: (chunk: Uint8Array<ArrayBuffer>) => void;
}

/** The longest body that is read at once, in bytes. A longer body is scanned while it arrives. */
const WHOLE_BYTES = 16 * 1024;

/** The longest body that is joined to one array, in bytes. A longer body stays in pieces. */
const SHORT_BYTES = 64 * 1024;

/** The size of the pieces of a long body, in bytes. Smaller pieces are slower to allocate and free. */
const PIECE_BYTES = 1024 * 1024;

/** The number of bytes that are scanned before other work gets its turn. */
const PART_BYTES = 64 * 1024;

/**
 * Reads a caller's whole body and decompresses it (docs/design.md#paths). A body whose length header exceeds the limit
 * is rejected unread. Any other body is rejected once it exceeds the limit.
 *
 * @throws {GatewayError} `body_too_large`, `body_timeout`, `unsupported_media_type`, or `overloaded` when there is no
 * memory for the body. `invalid_request` when the body does not match its content encoding or its length, or has a
 * transfer encoding other than chunks.
 * @throws {CallerLeft} When the connection breaks while the body is read.
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
    return isPlain && declared <= WHOLE_BYTES
      ? await readAtOnce(request, declared, options)
      : await readInChunks(source, isPlain ? declared : undefined, options);
  } catch (error) {
    throw bodyError(error, options.maxBytes);
  }
}

async function readAtOnce(
  request: IncomingRequest,
  length: number,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  options.memory.take(length);
  const whole = request.takeArrived?.() ?? await within(request.bytes(), {
    ms: orNever(options.deadlineMs),
    start: options.deadlines.start,
    onLate: () => {
      throw bodyTimeout();
    },
  });
  if (whole.length !== length) throw new WrongLengthError();
  options.onChunk(whole);
  return whole;
}

/** @param length The length of the body, in bytes; `undefined` when it is known only at the end. */
async function readInChunks(
  { request, headers }: BodySource,
  length: number | undefined,
  options: ReadBodyOptions,
): Promise<HeldBody> {
  const { memory, deadlines, deadlineMs } = options;
  const body = request.openBody?.() ?? request.body;
  if (body === null) return new Uint8Array();
  const controller = new AbortController();
  const end = memory.begin(
    length ?? 0,
    (error) => controller.abort(error),
  );
  const cancel = deadlines.start(
    orNever(deadlineMs),
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

/** The options of {@linkcode readLong}. The signal aborts the reading. */
interface Reading extends ReadBodyOptions {
  readonly signal: AbortSignal;
}

async function readLong(
  body: ByteSource,
  length: number | undefined,
  { maxBytes, memory, onChunk, signal }: Reading,
): Promise<HeldBody> {
  const turns = new LoopTurns();
  const pieces = await readPieces(body, {
    length,
    maxBytes,
    memory,
    pieceBytes: PIECE_BYTES,
    onBytes: (bytes) => show(bytes, onChunk, turns),
    signal,
  });
  const whole = new LongBytes(pieces);
  return whole.length <= SHORT_BYTES ? whole.join() : whole;
}

/**
 * Passes bytes on in parts. Scanning one part takes a few milliseconds, then other work gets its turn. Meanwhile the
 * next bytes arrive.
 */
async function show(
  bytes: Uint8Array<ArrayBuffer>,
  onChunk: Reading["onChunk"],
  turns: LoopTurns,
): Promise<void> {
  for (let start = 0; start < bytes.length; start += PART_BYTES) {
    await turns.next();
    const part = bytes.subarray(start, start + PART_BYTES);
    onChunk(part);
    turns.count(part.length);
  }
}

/** Converts an error of the platform. An unrecognized error counts as a broken connection. */
function bodyError(
  error: unknown,
  maxBytes: number,
): unknown {
  if (error instanceof GatewayError || error instanceof CallerLeft) {
    return error;
  }
  if (error instanceof TooLongError) return tooLarge(maxBytes);
  if (error instanceof WrongLengthError) return wrongLength(error);
  if (error instanceof MalformedMessage) return malformedChunks(error);
  return new CallerLeft("The caller's body broke off", { cause: error });
}

function malformedChunks(cause: unknown): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: its chunks are malformed or incomplete. Send a content-length instead.",
    { headers: { connection: "close" }, cause },
  );
}

function tooLarge(maxBytes: number): GatewayError {
  const most = `${maxBytes / (1024 * 1024)} MiB`;
  return new GatewayError(
    "body_too_large",
    `Cannot accept a body of this size: this path accepts up to ${most}. Send less.`,
    { code: "request_too_large", limit: `${most} a request body` },
  );
}

/** A server checks the length itself, so only a handler without a server throws this error. */
function wrongLength(cause: WrongLengthError): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: its length differs from its content-length header. Send the right length or none.",
    { cause },
  );
}

/** Creates the error for a late body. The error closes the connection (RFC 9110, section 15.5.9). */
function bodyTimeout(): GatewayError {
  return new GatewayError(
    "body_timeout",
    "Cannot wait longer for the body: it did not arrive in time. Send it again.",
    { headers: { connection: "close" } },
  );
}

/**
 * Decompresses a caller's body while it is read.
 *
 * @param encoding The `content-encoding` header. An absent or empty header means `identity`, which leaves the body
 * unchanged.
 * @throws {GatewayError} `unsupported_media_type` for any other encoding; while reading, `invalid_request` when the
 * body does not match its encoding.
 */
export function decompress<Source extends ByteSource>(
  body: Source,
  encoding: string | null | undefined,
): Source | ReadableStream<Uint8Array> {
  const name = readContentEncoding(encoding);
  if (name === undefined) throw unsupportedEncoding();
  return name === "identity" ? body : inflate(body, name, { mismatch });
}

/** Returns true when the body is not compressed. */
function isIdentity(encoding: string | null | undefined): boolean {
  return readContentEncoding(encoding) === "identity";
}

function mismatch(cause: unknown): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot decompress the body: it does not match its content-encoding header. Send the right encoding or none.",
    { cause },
  );
}

function unsupportedEncoding(): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content encoding is unknown. Use identity, gzip, deflate, br or zstd.",
    { headers: { "accept-encoding": "gzip, deflate, br, zstd" } },
  );
}

/**
 * Rejects a request that the HTTP server could not read, or that two servers may read in two ways. The connection is
 * closed, because another server may see this request end elsewhere.
 *
 * @throws {GatewayError} `invalid_request`.
 */
export function refuseFault({ fault }: IncomingRequest): void {
  if (fault === undefined) return;
  throw new GatewayError(
    "invalid_request",
    `Cannot read the request: ${fault}.`,
    { headers: CLOSE },
  );
}

const CLOSE = { connection: "close" };

/**
 * Rejects a body that the gateway cannot read, by its headers.
 *
 * @throws {GatewayError} `unsupported_media_type` for another content type than JSON in UTF-8, `invalid_request` for a
 * transfer encoding other than chunks.
 */
function checkBodyHeaders(headers: HeaderFields): void {
  checkContentType(headers.get("content-type"));
  checkTransferEncoding(headers.get("transfer-encoding"));
}

/** Returns the length in a caller's headers, in bytes; `undefined` when the headers name no length. */
function declaredBytes(headers: HeaderFields): number | undefined {
  const value = headers.get("content-length");
  return value && /^\d+$/.test(value) ? Number(value) : undefined;
}

/**
 * Checks the content type. A missing content type counts as JSON. JSON in another encoding than UTF-8 (RFC 8259,
 * section 8.1) could mean something else to an upstream.
 */
function checkContentType(value: string | null | undefined): void {
  if (value === null || value === undefined || value === PLAIN_TYPE) return;
  if (JSON_TYPE_REGEXP.test(value) && isUtf8(value)) return;
  throw new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content type is not JSON in UTF-8. Send content-type: application/json.",
  );
}

/** The content type of nearly all clients. */
const PLAIN_TYPE = "application/json";

const JSON_TYPE_REGEXP = /^\s*(application|text)\/([\w.+-]+\+)?json\s*(;|$)/i;

function isUtf8(contentType: string): boolean {
  return [...contentType.matchAll(CHARSET_REGEXP)]
    .every(([, charset = ""]) => UTF_8_REGEXP.test(charset.trim()));
}

/** Matches each parameter whose name begins with `charset`, with its value. */
const CHARSET_REGEXP = /charset([^;]*)/gi;

const UTF_8_REGEXP = /^=\s*(utf-?8|"utf-?8")$/i;

/**
 * Checks the transfer encoding. The server decodes chunks only. Any other coding would stay in the body, although a
 * proxy may have removed that coding (RFC 9112, section 6.1).
 */
function checkTransferEncoding(value: string | null | undefined): void {
  if ((value ?? "chunked").toLowerCase() === "chunked") return;
  throw new GatewayError(
    "invalid_request",
    "Cannot read the body: its transfer encoding is not just chunked. Send transfer-encoding: chunked or a content-length.",
    { headers: CLOSE },
  );
}
