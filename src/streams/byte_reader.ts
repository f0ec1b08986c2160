import { byobReader } from "./byob_reader.ts";
import type { ByteReader } from "./look_ahead.ts";

/** How large the buffer is that waits for bytes: it grows with what comes at once, up to the largest. */
const BUFFER_BYTES = { smallest: 4 * 1024, largest: 64 * 1024 };

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
  return {
    async read() {
      const buffer = spare ?? new ArrayBuffer(bufferBytes);
      spare = undefined;
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return { done: true };
      const isFull = value.length === value.buffer.byteLength;
      if (isFull) bufferBytes = Math.min(2 * bufferBytes, BUFFER_BYTES.largest);
      if (value.length > SMALL_SHARE * value.buffer.byteLength) {
        return { done: false, value };
      }
      const chunk = value.slice();
      // A large buffer is not kept while little comes.
      bufferBytes = BUFFER_BYTES.smallest;
      if (value.buffer.byteLength === bufferBytes) spare = value.buffer;
      return { done: false, value: chunk };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}
