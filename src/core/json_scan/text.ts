import { BitStack } from "./bit_stack.ts";
import { failSyntax } from "./scan_error.ts";

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/** What one scan works on. */
export interface JsonText {
  readonly bytes: Uint8Array;
  /** The same bytes, to be read four at a time. */
  readonly words: DataView;
  /** The containers open around the current value, without the outermost object: `true` for objects. */
  readonly open: BitStack;
  /** The offset from which on the scan pauses where it can. */
  pauseAt: number;
  /** Whether it has paused before an item of the innermost container; else before a bracket. */
  isAtItem: boolean;
}

/** Makes `bytes` ready for one scan, which never pauses unless told so. */
export function createJsonText(bytes: Uint8Array): JsonText {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open = new BitStack();
  return { bytes, words, open, pauseAt: Infinity, isAtItem: false };
}

/**
 * The byte at `position`, or -1 behind the end. A plain read behind the end would give `undefined`, for
 * which V8 slows all later reads at that place of the code: a few bodies cut short would halve the speed.
 */
export function byteAt(bytes: Uint8Array, position: number): number {
  return position < bytes.length ? bytes[position] ?? -1 : -1;
}

/** The offset of the first byte from `start` on that is no white space; the length when there is none. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let position = start;
  while (position < bytes.length && isSpace(bytes[position] ?? 0)) position++;
  return position;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN ||
    byte === TAB;
}

/**
 * The offset of the value behind a member's name that ends before `start`.
 *
 * @throws {JsonScanError} With `syntax`, when there is no colon.
 */
export function skipColon(bytes: Uint8Array, start: number): number {
  const colon = skipSpace(bytes, start);
  if (byteAt(bytes, colon) !== COLON) failSyntax(bytes, colon);
  return skipSpace(bytes, colon + 1);
}
