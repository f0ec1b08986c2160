import type { BodyDecoder } from "./body_decoder.ts";
import type { Crowd } from "./crowd.ts";

/**
 * The size of the buffer that waits for bytes. When a read fills the buffer, more bytes are waiting, so the next buffer
 * is the largest, to save reads and writes. When bytes come slowly, the next buffer is smaller.
 */
const BUFFER_BYTES = {
  smallest: 4 * 1024,
  steady: 16 * 1024,
  largest: 64 * 1024,
};

/** A payload that fills less than this share of its buffer is copied out of the buffer. */
const SMALL_SHARE = 1 / 4;

/**
 * Short payloads share memory of this size, in bytes, because allocating memory takes as long as reading a short
 * payload.
 */
const SHARED_BYTES = 8 * 1024;

/**
 * The longest payload that is copied into shared memory, in bytes. As long as such a payload is kept, all of the shared
 * memory is kept. The user of a payload must not transfer its memory.
 */
const MAX_SHARED_BYTES = SHARED_BYTES / 8;

let shared = new Uint8Array(SHARED_BYTES);
let sharedEnd = 0;

function copyOf(payload: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  if (length > MAX_SHARED_BYTES) return payload.slice();
  if (sharedEnd + length > SHARED_BYTES) {
    shared = new Uint8Array(SHARED_BYTES);
    sharedEnd = 0;
  }
  const copy = shared.subarray(sharedEnd, sharedEnd + length);
  copy.set(payload);
  sharedEnd += length;
  return copy;
}

/** Reads available bytes into `into`; returns their number, or `null` at the end. */
type Read = (into: Uint8Array) => Promise<number | null>;

/** The bytes of a socket that have arrived but are not taken yet. At most one read is under way. */
export class IncomingBytes {
  readonly #source: Read;
  readonly #crowd: Crowd | undefined;
  #buffer = new Uint8Array(BUFFER_BYTES.smallest);
  #start = 0;
  #end = 0;
  #bufferBytes = BUFFER_BYTES.smallest;
  #reading: Promise<number | null> | undefined;
  #filling: Promise<boolean> | undefined;

  constructor(source: Read, crowd?: Crowd) {
    this.#source = source;
    this.#crowd = crowd;
  }

  /** The bytes that wait. The next read may move them. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** The number of bytes that wait. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Announces how many bytes may come next. A socket that should be silent gets a small buffer. */
  expect(bytes: number): void {
    const { smallest, largest } = BUFFER_BYTES;
    this.#bufferBytes = Math.min(Math.max(bytes, smallest), largest);
  }

  /**
   * Waits for more bytes. Pass the result to {@linkcode IncomingBytes.take}.
   *
   * @throws The reason of the platform when the socket broke.
   */
  read(): Promise<number | null> {
    return this.#reading ??= this.#read();
  }

  /** Takes the bytes of a read. Returns false when the socket has ended. */
  take(count: number | null): boolean {
    this.#reading = undefined;
    this.#crowd?.countRead();
    if (count === null || count === 0) return false;
    this.#end += count;
    this.#adapt(count);
    return true;
  }

  /** Reads and takes more bytes. Calls during a read share its result. */
  fill(): Promise<boolean> {
    return this.#filling ??= this.read().then((count) => {
      this.#filling = undefined;
      return this.take(count);
    });
  }

  /** Removes `length` bytes from the start. */
  skip(length: number): void {
    this.#start += length;
  }

  #adapt(count: number): void {
    if (this.#end === this.#buffer.length) {
      this.#bufferBytes = BUFFER_BYTES.largest;
    } else {
      const { smallest, steady } = BUFFER_BYTES;
      const steps = Math.floor(count / smallest) + 1;
      this.#bufferBytes = Math.min(steps * smallest, steady);
    }
  }

  #read(): Promise<number | null> {
    if (this.#start === this.#end) {
      this.#start = this.#end = 0;
      if (this.#buffer.length !== this.#bufferBytes) {
        this.#buffer = new Uint8Array(this.#bufferBytes);
      }
    } else if (this.#end === this.#buffer.length) {
      // The buffer only doubles, so that an incomplete head takes little memory.
      const larger = new Uint8Array(
        Math.max(2 * this.#buffer.length, BUFFER_BYTES.smallest),
      );
      larger.set(this.#buffer.subarray(this.#start, this.#end));
      this.#end -= this.#start;
      this.#start = 0;
      this.#buffer = larger;
    }
    return this.#source(this.#buffer.subarray(this.#end));
  }

  /**
   * Takes the payload of a body.
   *
   * @param isLent True when the payload is used before the next read of the socket. That read may overwrite the
   * payload. The end of a body is never lent.
   * @returns The payload that has arrived; `undefined` when there is none. A payload that is not lent may be kept but
   * not transferred, because short payloads share memory.
   */
  decode(
    decoder: BodyDecoder,
    isLent = false,
  ): Uint8Array<ArrayBuffer> | undefined {
    if (this.#start === this.#end) return undefined;
    const { payload, takenBytes } = decoder.push(
      this.#buffer.subarray(this.#start, this.#end),
    );
    this.#start += takenBytes;
    if (payload.length === 0) return undefined;
    if (isLent && !decoder.isDone) {
      this.#bufferBytes = Math.max(this.#bufferBytes, this.#buffer.length);
      return payload;
    }
    const isSmall = payload.length <= SMALL_SHARE * this.#buffer.length;
    if (isSmall) return copyOf(payload);
    // The payload keeps the buffer; the bytes after it move to another buffer.
    const rest = this.#buffer.slice(this.#start, this.#end);
    this.#buffer = rest;
    this.#start = 0;
    this.#end = rest.length;
    return payload;
  }
}
