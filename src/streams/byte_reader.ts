import { byobReader } from "./byob_reader.ts";
import type { ByteRead, ByteReader } from "./look_ahead.ts";

/**
 * How large the buffer is that waits for bytes: the smallest first, twice as large while it is filled, and then as
 * large as the last piece was, so that the next of that length comes in one read. What has fallen silent costs no more
 * than `steady`.
 */
const BUFFER_BYTES = {
  smallest: 4 * 1024,
  steady: 16 * 1024,
  largest: 64 * 1024,
};

/** A chunk that fills less than this share of its buffer is copied out of it. */
const SMALL_SHARE = 1 / 4;

/**
 * Reads a body in chunks as they come, each of which is the reader's to keep. `fetch` itself gives every chunk a
 * buffer of 64 KiB, however few bytes an event has, and keeps another one waiting; with thousands of streams that
 * is most of what they cost. Where the body allows it, this waits with a small buffer of its own instead.
 *
 * @param firstBytes How large the first buffer is, more than 0: as long as the body, where that is known.
 */
export function createByteReader(
  body: ReadableStream<Uint8Array>,
  firstBytes: number = BUFFER_BYTES.smallest,
): ByteReader {
  const reader = byobReader(body);
  if (reader === undefined) return body.getReader();
  let bufferBytes = firstBytes;
  let spare: ArrayBuffer | undefined;
  /** How much has come of the piece that is coming: what a full buffer did not hold belongs to it. */
  let pieceBytes = 0;

  function adapt(readBytes: number, isFull: boolean): void {
    pieceBytes += readBytes;
    if (isFull) {
      bufferBytes = Math.min(2 * bufferBytes, BUFFER_BYTES.largest);
    } else {
      bufferBytes = bufferFor(pieceBytes);
      pieceBytes = 0;
    }
  }

  function take(
    { done, value }: ReadableStreamReadResult<Uint8Array<ArrayBuffer>>,
  ): ByteRead {
    if (done) return { done: true };
    const { buffer } = value;
    const size = buffer.byteLength;
    adapt(value.length, value.length === size);
    if (value.length > SMALL_SHARE * size) return { done: false, value };
    const chunk = value.slice();
    // Freed at once: the first buffers of thousands of streams would lie there together until they are collected.
    if (size === bufferBytes) spare = buffer;
    else buffer.transfer(0);
    return { done: false, value: chunk };
  }

  return {
    read() {
      const buffer = spare ?? new ArrayBuffer(bufferBytes);
      spare = undefined;
      return reader.read(new Uint8Array(buffer)).then(take);
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** A piece of the same length leaves room, so that its end shows. */
function bufferFor(pieceBytes: number): number {
  const { smallest, steady } = BUFFER_BYTES;
  const steps = Math.floor(pieceBytes / smallest) + 1;
  return Math.min(steps * smallest, steady);
}
