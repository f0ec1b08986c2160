import type { ReadChange } from "./byte_reader.ts";
import { byteText, joinBytes } from "./bytes.ts";

/** Masks secret texts in the bytes of a stream. */
interface ByteMask {
  /**
   * Takes the next chunk, which may be changed in place.
   *
   * @param text The chunk as a text of `byteText`, if that exists already.
   * @returns The bytes to forward. The end of a chunk is held if a secret may begin there.
   */
  push(chunk: Uint8Array<ArrayBuffer>, text?: string): MaskedChunk;
  /** Returns the rest after the last chunk. */
  end(): Uint8Array<ArrayBuffer>;
}

/** The result of {@linkcode ByteMask.push}. */
interface MaskedChunk {
  readonly value: Uint8Array<ArrayBuffer>;
  /** The value as a text of `byteText`, if it is the whole unchanged chunk. */
  readonly text: string | undefined;
}

/** The number of first bytes that identify a secret. The secret's further bytes are masked as far as they match. */
const IDENTIFYING_BYTES = 16;

/**
 * If at most this many bytes at the end of a chunk match a secret, these bytes are forwarded without waiting, so that
 * answers are not held up.
 */
const HARMLESS_BYTES = 3;

const ASTERISK = 0x2a;

const NOTHING = new Uint8Array();

/** A secret, prepared for many bodies. */
interface MaskedText {
  readonly secret: Uint8Array;
  /** The beginning that identifies the secret. */
  readonly needle: Uint8Array;
  /** Finds the needle. */
  readonly find: Finder;
}

/**
 * Prepares a text to be masked.
 *
 * @param text ASCII, longer than {@linkcode HARMLESS_BYTES}.
 */
export function prepareMaskedText(text: string): MaskedText {
  const secret = new TextEncoder().encode(text);
  const needle = secret.subarray(0, IDENTIFYING_BYTES);
  return {
    secret,
    needle,
    find: createFinder(text.slice(0, IDENTIFYING_BYTES)),
  };
}

/**
 * Creates a mask that replaces each byte of a secret by an asterisk, also across chunks. An incomplete secret is masked
 * too, if its first bytes identify it.
 */
export function createByteMask(
  { secret, needle, find }: MaskedText,
): ByteMask {
  /** The end of the last chunk, if the secret may begin there. */
  let held = NOTHING;
  /** The number of held bytes that were already forwarded, because so few bytes are harmless. */
  let passed = 0;
  /** The number of masked bytes of a secret that continues in the next chunk. */
  let masked = 0;

  /** Masks the secret from `start` on, without its first `masked` bytes, which were in earlier chunks. */
  function mask(bytes: Uint8Array, start: number): number {
    const end = maskRun(bytes, start, secret.subarray(masked));
    masked += end - start;
    if (end < bytes.length || masked === secret.length) masked = 0;
    return end;
  }

  return {
    push(chunk, chunkText) {
      const isWhole = held.length === 0;
      const bytes = isWhole ? chunk : joinBytes([held, chunk]);
      const text = (isWhole ? chunkText : undefined) ?? byteText(bytes);
      let position = masked > 0 ? mask(bytes, 0) : 0;
      for (;;) {
        const found = find(text, position);
        if (found === -1) break;
        position = mask(bytes, found);
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
 * Masks the results of a reader's reads, one after another. While a chunk is held, the read of this chunk returns an
 * empty chunk to show that the source is active. At the end of the source, a read returns the held bytes, and the next
 * read returns the end.
 */
export function maskReads(mask: ByteMask): ReadChange {
  return ({ done, value, text }) => {
    if (!done) return { done: false, ...mask.push(ownBytes(value), text) };
    const rest = mask.end();
    return rest.length > 0 ? { done: false, value: rest } : { done: true };
  };
}

/** Masks the secret in a whole body. */
export function maskBytes(
  bytes: Uint8Array,
  { secret, find }: MaskedText,
): void {
  const text = byteText(bytes);
  let found = find(text, 0);
  while (found !== -1) found = find(text, maskRun(bytes, found, secret));
}

/** Masks the bytes at `start` that match the text. Returns the position after the masked bytes. */
function maskRun(bytes: Uint8Array, start: number, text: Uint8Array): number {
  let end = start;
  while (end < bytes.length && bytes[end] === text[end - start]) {
    bytes[end++] = ASTERISK;
  }
  return end;
}

/** Returns bytes that may be changed: the given bytes, or a copy if other threads share their memory. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return isOwn(bytes) ? bytes : bytes.slice();
}

function isOwn(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer;
}

/** Returns true when the first `length` bytes of the needle are at `start`. */
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

/** Returns how many of the last bytes of `bytes` equal the first bytes of `needle`. */
function beginningAtEnd(bytes: Uint8Array, needle: Uint8Array): number {
  const most = Math.min(needle.length - 1, bytes.length);
  for (let length = most; length > 0; length--) {
    if (beginsAt(bytes, bytes.length - length, needle, length)) return length;
  }
  return 0;
}

/** Returns the first position of the wanted text in `text` at or after `from`; -1 if there is no such position. */
export type Finder = (text: string, from: number) => number;

/** V8 looks for a text of at most this length by the text's first character, at memory speed. */
const PROBE_LENGTH = 6;

/** The frequent characters of text and JSON, the most frequent first. API keys also have many rarer characters. */
const FREQUENT = '"etaoinsrlhdcu:,{}mfpgwybv.-0123456789';

/** Returns the position of the rarest character of a text; the first position if several characters are as rare. */
function rarestIn(text: string): number {
  const ranks = Array.from(text, (one) => {
    const rank = FREQUENT.indexOf(one);
    return rank === -1 ? FREQUENT.length : rank;
  });
  return ranks.indexOf(Math.max(...ranks));
}

/**
 * Creates a function that looks for one text in many others. The function first looks for a short part that begins with
 * a rare character. `indexOf` with a long text is several times slower, because it stops at each common letter.
 *
 * @param wanted The text to find; not empty.
 */
export function createFinder(wanted: string): Finder {
  const offset = rarestIn(wanted);
  const probe = wanted.slice(offset, offset + PROBE_LENGTH);
  return (text, from) => {
    let at = text.indexOf(probe, from + offset);
    while (at !== -1 && !text.startsWith(wanted, at - offset)) {
      at = text.indexOf(probe, at + 1);
    }
    return at === -1 ? -1 : at - offset;
  };
}
