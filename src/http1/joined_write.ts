/** A size of buffers for joined writes, and how many buffers of this size are kept for later writes. */
interface Size {
  readonly bytes: number;
  readonly mostSpare: number;
  readonly spare: Uint8Array<ArrayBuffer>[];
}

/**
 * An event fits into the first size, most heads with a short body into the second or third, and the pieces of a long
 * body into the last. A write to a slow reader keeps its buffer for long, so the buffer must not be much too large.
 */
const SIZES: readonly Size[] = [
  { bytes: 1024, mostSpare: 256, spare: [] },
  { bytes: 4 * 1024, mostSpare: 64, spare: [] },
  { bytes: 16 * 1024, mostSpare: 32, spare: [] },
  { bytes: 128 * 1024, mostSpare: 4, spare: [] },
];

/** The buffers that writes use now. */
const inUse = new WeakMap<ArrayBufferLike, Size>();

/**
 * Joins a text, some parts, and a text after them for one write. Each character of a text is one byte (ISO 8859-1).
 *
 * After the write, give the memory back with {@linkcode reuseWritten}: allocating memory takes as long as writing a
 * short message.
 */
export function joinForWrite(
  before: string,
  parts: readonly Uint8Array[],
  after = "",
): Uint8Array {
  let length = before.length + after.length;
  for (const part of parts) length += part.length;
  const joined = allocate(length);
  writeLatin1(before, joined);
  let at = before.length;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  if (after !== "") writeLatin1(after, joined.subarray(at));
  return joined;
}

/** Takes back the memory of a write that has ended. Ignores bytes that are not from {@linkcode joinForWrite}. */
export function reuseWritten({ buffer }: Uint8Array): void {
  const size = inUse.get(buffer);
  if (size === undefined || !(buffer instanceof ArrayBuffer)) return;
  inUse.delete(buffer);
  if (size.spare.length < size.mostSpare) {
    size.spare.push(new Uint8Array(buffer));
  }
}

function allocate(length: number): Uint8Array<ArrayBuffer> {
  const size = SIZES.find(({ bytes }) => length <= bytes);
  if (size === undefined) return new Uint8Array(length);
  const whole = size.spare.pop() ?? new Uint8Array(size.bytes);
  inUse.set(whole.buffer, size);
  return whole.subarray(0, length);
}

const encoder = new TextEncoder();

/** The length in characters from which the platform writes ASCII faster than a loop. */
const LONG_TEXT = 32;

/** Writes a text with one byte for each character. Nearly all heads are ASCII. */
function writeLatin1(text: string, into: Uint8Array): void {
  if (text.length >= LONG_TEXT) {
    const { read, written } = encoder.encodeInto(text, into);
    if (read === text.length && written === text.length) return;
  }
  for (let at = 0; at < text.length; at++) into[at] = text.charCodeAt(at);
}
