import { MalformedMessage } from "./failure.ts";
import { type Framing, parseFields } from "./head.ts";
import type { ByteRead, ByteReader } from "@gateway/base/streams/byte_reader";
import { byteText } from "@gateway/base/streams/bytes";

/** Finds the payload of a body in the bytes of a connection. The bytes may arrive in pieces of any length. */
export interface BodyDecoder {
  /** True when the body is complete; no more bytes belong to it. */
  readonly isDone: boolean;
  /**
   * Takes the next bytes of the connection.
   *
   * @param bytes At least one byte; the decoder may move payload within these bytes.
   * @returns The payload, in the memory of `bytes`, and the number of bytes that belong to the body.
   * @throws {MalformedMessage} When the bytes break the framing.
   */
  push(bytes: Uint8Array<ArrayBuffer>): Decoded;
  /** Returns true when the end of the connection completes the body. */
  end(): boolean;
}

/** The result of one step of a {@linkcode BodyDecoder}. */
interface Decoded {
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly takenBytes: number;
}

/** Returns the decoder of a body; `undefined` when there is no body. */
export function createBodyDecoder(framing: Framing): BodyDecoder | undefined {
  switch (framing.kind) {
    case "none":
      return undefined;
    case "length":
      return framing.bytes === 0 ? undefined : new LengthDecoder(framing.bytes);
    case "chunked":
      return new ChunkedDecoder();
    case "close":
      return new CloseDecoder();
  }
}

/** A body with a `content-length`. */
class LengthDecoder implements BodyDecoder {
  #leftBytes: number;

  constructor(bytes: number) {
    this.#leftBytes = bytes;
  }

  get isDone(): boolean {
    return this.#leftBytes === 0;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Decoded {
    const payload = bytes.length <= this.#leftBytes
      ? bytes
      : bytes.subarray(0, this.#leftBytes);
    this.#leftBytes -= payload.length;
    return { payload, takenBytes: payload.length };
  }

  end(): boolean {
    return false;
  }
}

/** A body that ends with the connection. */
class CloseDecoder implements BodyDecoder {
  isDone = false;

  push(bytes: Uint8Array<ArrayBuffer>): Decoded {
    return { payload: bytes, takenBytes: bytes.length };
  }

  end(): boolean {
    this.isDone = true;
    return true;
  }
}

/** The longest line of a chunk's size, extensions included, in bytes. */
const MAX_SIZE_LINE_BYTES = 4 * 1024;

/** The most bytes that all chunk extensions of a body may have together. */
const MAX_EXTENSION_BYTES = 64 * 1024;

/** The most bytes that all trailers of a body may have together. */
const MAX_TRAILER_BYTES = 16 * 1024;

const CR = 0x0d;
const LF = 0x0a;

const SIZE_LINE_REGEXP =
  /^([0-9A-Fa-f]{1,13})[\t ]*(;[\t\x20-\x7e\x80-\xff]*)?$/;

/**
 * A chunked body (RFC 9112, section 7.1). The decoder joins the payload of all chunks in one input, so that the reader
 * gets a burst of small chunks in one read.
 */
class ChunkedDecoder implements BodyDecoder {
  #state: "size" | "data" | "dataEnd" | "trailer" | "done" = "size";
  /** The incomplete line so far. */
  #line = "";
  /** The missing bytes of the current chunk's payload, or of the CRLF after it. */
  #leftBytes = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;

  get isDone(): boolean {
    return this.#state === "done";
  }

  push(bytes: Uint8Array<ArrayBuffer>): Decoded {
    const { length } = bytes;
    let at = 0;
    let payloadStart = 0;
    let payloadEnd = 0;
    while (at < length && this.#state !== "done") {
      if (this.#state === "data") {
        const end = Math.min(length, at + this.#leftBytes);
        if (payloadEnd === 0) payloadStart = payloadEnd = at;
        if (payloadEnd !== at) bytes.copyWithin(payloadEnd, at, end);
        payloadEnd += end - at;
        this.#leftBytes -= end - at;
        at = end;
        if (this.#leftBytes === 0) {
          this.#state = "dataEnd";
          this.#leftBytes = 2;
        }
      } else if (this.#state === "dataEnd") {
        if (bytes[at] !== (this.#leftBytes === 2 ? CR : LF)) throw badChunk();
        at++;
        if (--this.#leftBytes === 0) this.#state = "size";
      } else {
        at = this.#readLine(bytes, at);
      }
    }
    return {
      payload: bytes.subarray(payloadStart, payloadEnd),
      takenBytes: at,
    };
  }

  end(): boolean {
    return false;
  }

  /** Reads more of a size line or a trailer. Returns the position after the bytes that were read. */
  #readLine(bytes: Uint8Array, start: number): number {
    const size = this.#state === "size" && this.#line === ""
      ? plainSize(bytes, start)
      : undefined;
    if (size !== undefined) {
      this.#begin(size.bytes);
      return size.end;
    }
    const found = bytes.indexOf(LF, start);
    const end = found < 0 ? bytes.length : found + 1;
    this.#line += byteText(bytes.subarray(start, end));
    const isTrailer = this.#state === "trailer";
    const mostBytes = isTrailer
      ? MAX_TRAILER_BYTES - this.#trailerBytes
      : MAX_SIZE_LINE_BYTES;
    if (this.#line.length > mostBytes) throw badChunk();
    if (found < 0) return end;
    if (!this.#line.endsWith("\r\n")) throw badChunk();
    const line = this.#line.slice(0, -2);
    this.#line = "";
    if (isTrailer) this.#takeTrailer(line);
    else this.#takeSize(line);
    return end;
  }

  #takeSize(line: string): void {
    const found = SIZE_LINE_REGEXP.exec(line);
    if (found === null) throw badChunk();
    this.#extensionBytes += found[2]?.length ?? 0;
    if (this.#extensionBytes > MAX_EXTENSION_BYTES) throw badChunk();
    this.#begin(Number.parseInt(found[1] ?? "", 16));
  }

  #begin(chunkBytes: number): void {
    this.#leftBytes = chunkBytes;
    this.#state = chunkBytes === 0 ? "trailer" : "data";
  }

  /** Checks a trailer, then drops it: no client of a provider reads trailers. */
  #takeTrailer(line: string): void {
    if (line === "") {
      this.#state = "done";
      return;
    }
    this.#trailerBytes += line.length;
    parseFields([line]);
  }
}

/** The most digits of a chunk's size that {@linkcode plainSize} reads. */
const MAX_PLAIN_DIGITS = 7;

/**
 * Reads a chunk's size line if it has the usual form, without an extension. A streamed answer has about one such line
 * per event.
 *
 * @returns The size, and the position after the line; `undefined` if the line has another form or is incomplete.
 */
function plainSize(
  bytes: Uint8Array,
  start: number,
): { readonly bytes: number; readonly end: number } | undefined {
  let size = 0;
  let at = start;
  for (; at - start < MAX_PLAIN_DIGITS; at++) {
    const digit = hexDigit(bytes[at] ?? CR);
    if (digit === undefined) break;
    size = 16 * size + digit;
  }
  const isLine = at > start && bytes[at] === CR && bytes[at + 1] === LF;
  return isLine ? { bytes: size, end: at + 2 } : undefined;
}

function hexDigit(code: number): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}

function badChunk(): MalformedMessage {
  return new MalformedMessage("its chunks are malformed");
}

/** What a {@linkcode BodyReader} needs of its socket. */
interface BodySocket {
  read(): Promise<number | null>;
  take(count: number | null): boolean;
  decode(decoder: BodyDecoder): Uint8Array<ArrayBuffer> | undefined;
  /** Closes the socket and returns the failure for `cause`. */
  failure(cause: unknown): Error;
  close(): void;
}

/** Reads the body of one response. */
export class BodyReader implements ByteReader {
  readonly #socket: BodySocket;
  readonly #decoder: BodyDecoder;
  readonly #onComplete: () => void;
  #isOver = false;

  constructor(
    socket: BodySocket,
    decoder: BodyDecoder,
    onComplete: () => void,
  ) {
    this.#socket = socket;
    this.#decoder = decoder;
    this.#onComplete = onComplete;
  }

  read(): Promise<ByteRead> {
    if (this.#isOver) return END;
    try {
      const payload = this.#take();
      if (payload !== undefined) {
        return Promise.resolve({ done: false, value: payload });
      }
      return this.#isOver ? END : this.#readOn();
    } catch (cause) {
      return Promise.reject(this.#socket.failure(cause));
    }
  }

  cancel(): Promise<void> {
    if (!this.#isOver) {
      this.#socket.close();
      this.#complete();
    }
    return Promise.resolve();
  }

  /** Ends the exchange: all of the response has arrived. */
  #complete(): void {
    this.#isOver = true;
    this.#onComplete();
  }

  #take(): Uint8Array<ArrayBuffer> | undefined {
    const payload = this.#socket.decode(this.#decoder);
    if (this.#decoder.isDone) this.#complete();
    return payload;
  }

  async #readOn(): Promise<ByteRead> {
    try {
      for (;;) {
        const isMore = this.#socket.take(await this.#socket.read());
        // A cancelled body ends at once.
        if (this.#isOver) return { done: true };
        if (!isMore) {
          if (!this.#decoder.end()) {
            throw new Error("The connection was closed");
          }
          this.#complete();
          return { done: true };
        }
        const payload = this.#take();
        if (payload !== undefined) return { done: false, value: payload };
        if (this.#isOver) return { done: true };
      }
    } catch (cause) {
      if (this.#isOver) return { done: true };
      throw this.#socket.failure(cause);
    }
  }
}

const END: Promise<ByteRead> = Promise.resolve({ done: true });
