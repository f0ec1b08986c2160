const CARRIAGE_RETURN = 13;

const LINE_FEED = 10;

/**
 * Cuts bytes at difficult positions: inside every multi-byte UTF-8 character, and on both sides of
 * each byte of a line end.
 */
export function cutAwkwardly(
  bytes: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer>[] {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let start = 0;
  for (let index = 1; index < bytes.length; index++) {
    if (!isAwkward(bytes[index - 1] ?? 0, bytes[index] ?? 0)) continue;
    pieces.push(bytes.slice(start, index));
    start = index;
  }
  pieces.push(bytes.slice(start));
  return pieces;
}

function isAwkward(before: number, after: number): boolean {
  const continuesCharacter = (after & 0xc0) === 0x80;
  return continuesCharacter || [before, after].includes(LINE_FEED) ||
    before === CARRIAGE_RETURN;
}
