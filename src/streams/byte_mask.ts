import type { ByteRead, ByteReader } from "./byte_reader.ts";
import { byteText, joinBytes } from "./bytes.ts";

/** Makes texts that must not be seen unreadable in bytes that pass. */
interface ByteMask {
  /**
   * Takes the next chunk, which may be changed in place.
   *
   * @param text The chunk as `byteText` has it, where that was made already.
   * @returns What may go on; the end of a chunk waits where one of the texts may have begun in it.
   */
  push(chunk: Uint8Array<ArrayBuffer>, text?: string): MaskedChunk;
  /** Told that nothing more comes. */
  end(): Uint8Array<ArrayBuffer>;
}

/** What a {@linkcode ByteMask} lets through. */
interface MaskedChunk {
  readonly value: Uint8Array<ArrayBuffer>;
  /** The same as `byteText` has it, where it is all of the chunk as it came. */
  readonly text: string | undefined;
}

/** So much of a text's beginning gives it away, in bytes; what follows is covered as far as it is the text. */
const TELLING_BYTES = 16;

/** So little of it at the end of a chunk does not wait for the next, in bytes: answers must not be held up. */
const HARMLESS_BYTES = 3;

const ASTERISK = 0x2a;

const NOTHING = new Uint8Array();

/** What is looked for, made ready for many bodies. */
interface MaskedText {
  readonly secret: Uint8Array;
  /** Its telling beginning. */
  readonly needle: Uint8Array;
  /** Finds that beginning. */
  readonly find: Finder;
}

/**
 * Makes a text ready to be covered.
 *
 * @param text In ASCII, longer than {@linkcode HARMLESS_BYTES}.
 */
export function prepareMaskedText(text: string): MaskedText {
  const secret = new TextEncoder().encode(text);
  const needle = secret.subarray(0, TELLING_BYTES);
  return { secret, needle, find: createFinder(text.slice(0, TELLING_BYTES)) };
}

/** Covers a text with as many asterisks wherever it or its beginning stands, also across chunks. */
export function createByteMask(
  { secret, needle, find }: MaskedText,
): ByteMask {
  /** The end of what came, where the text may have begun in it. */
  let held = NOTHING;
  /** How much of that went on already, being harmless. */
  let passed = 0;
  /** How much of the text is covered already that goes on in the next chunk. */
  let covered = 0;

  /** Covers the text from `start` on; `covered` is what came of it before. */
  function cover(bytes: Uint8Array, start: number): number {
    const end = coverRun(bytes, start, secret.subarray(covered));
    covered += end - start;
    if (end < bytes.length || covered === secret.length) covered = 0;
    return end;
  }

  return {
    push(chunk, chunkText) {
      const isWhole = held.length === 0;
      const bytes = isWhole ? chunk : joinBytes([held, chunk]);
      const text = (isWhole ? chunkText : undefined) ?? byteText(bytes);
      let position = covered > 0 ? cover(bytes, 0) : 0;
      for (;;) {
        const found = find(text, position);
        if (found === -1) break;
        position = cover(bytes, found);
      }
      const length = beginningAtEnd(bytes, needle);
      const start = bytes.length - length;
      const end = length > HARMLESS_BYTES
        ? Math.max(start, passed)
        : bytes.length;
      const isSame = isWhole && position === 0 && end === bytes.length;
      const open = isSame ? bytes : bytes.subarray(passed, end);
      held = length === 0 ? NOTHING : bytes.slice(start);
      passed = Math.max(0, end - start);
      return { value: open, text: isSame ? text : undefined };
    },
    end() {
      const rest = held.subarray(passed);
      held = NOTHING;
      passed = 0;
      return rest;
    },
  };
}

/**
 * Reads with a mask. A chunk that waits, or has nothing in it, is passed on as an empty one, for it is a sign of
 * life. A source that ends is read to its end first; one that breaks loses what waited.
 */
export function maskReader(reader: ByteReader, mask: ByteMask): ByteReader {
  let isOver = false;

  function pass({ done, value, text }: ByteRead): ByteRead {
    if (!done) return { done: false, ...mask.push(ownBytes(value), text) };
    isOver = true;
    const rest = mask.end();
    return rest.length > 0 ? { done: false, value: rest } : { done: true };
  }

  return {
    read: () =>
      isOver ? Promise.resolve({ done: true }) : reader.read().then(pass),
    cancel: (reason) => reader.cancel(reason),
  };
}

/** Covers the text in bytes that are all there, as a mask does in bytes that pass. */
export function maskBytes(
  bytes: Uint8Array,
  { secret, find }: MaskedText,
): void {
  const text = byteText(bytes);
  let found = find(text, 0);
  while (found !== -1) found = find(text, coverRun(bytes, found, secret));
}

/** Covers what of the text stands at `start`, and says where that ends. */
function coverRun(bytes: Uint8Array, start: number, text: Uint8Array): number {
  let end = start;
  while (end < bytes.length && bytes[end] === text[end - start]) {
    bytes[end++] = ASTERISK;
  }
  return end;
}

/** What may be changed. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return isOwn(bytes) ? bytes : bytes.slice();
}

function isOwn(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer;
}

/** Whether the first `length` bytes of the needle stand at `start`. */
function beginsAt(
  bytes: Uint8Array,
  start: number,
  needle: Uint8Array,
  length: number,
): boolean {
  for (let index = 0; index < length; index++) {
    if (bytes[start + index] !== needle[index]) return false;
  }
  return true;
}

/** How many bytes at the end are the needle's beginning. */
function beginningAtEnd(bytes: Uint8Array, needle: Uint8Array): number {
  const most = Math.min(needle.length - 1, bytes.length);
  for (let length = most; length > 0; length--) {
    if (beginsAt(bytes, bytes.length - length, needle, length)) return length;
  }
  return 0;
}

/** Where a text begins in another one, at `from` or behind it; -1 where it does not. */
type Finder = (text: string, from: number) => number;

/**
 * V8 looks for the first character of a text of this length as fast as memory can be read, and for longer ones never.
 */
const PROBE_LENGTH = 6;

/** What texts and JSON hold seldom, and keys often. */
const RARE_REGEXP = /[A-Z_jkqxz]/;

/**
 * A search for one text in many: a short part of it that begins with a rare character is looked for first, which is
 * several times faster than `indexOf` where the text is long and common letters make it stop all the time.
 *
 * @param wanted Not empty.
 */
export function createFinder(wanted: string): Finder {
  const offset = Math.max(0, wanted.search(RARE_REGEXP));
  const probe = wanted.slice(offset, offset + PROBE_LENGTH);
  return (text, from) => {
    let at = text.indexOf(probe, from + offset);
    while (at !== -1 && !text.startsWith(wanted, at - offset)) {
      at = text.indexOf(probe, at + 1);
    }
    return at === -1 ? -1 : at - offset;
  };
}
