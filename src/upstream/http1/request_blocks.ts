import type { LongBytes } from "../../streams/bytes.ts";

/** Shorter pieces of a body are joined up to this length before they are written, in bytes. */
const WRITE_BYTES = 128 * 1024;

/**
 * Joins a head and a body into blocks that are worth a system call each. A short request is one block; a long piece of a
 * body is a block of its own and is not copied.
 */
export function* requestBlocks(
  head: string,
  body: Uint8Array | LongBytes | undefined,
): Generator<Uint8Array> {
  const pieces = piecesOf(body);
  let next = 0;
  let prefix = head;
  while (prefix !== "" || next < pieces.length) {
    let end = next;
    let bytes = prefix.length;
    for (let piece = pieces[end]; piece !== undefined; piece = pieces[++end]) {
      if (bytes + piece.length > WRITE_BYTES) break;
      bytes += piece.length;
    }
    const [only] = pieces.slice(next, next + 1);
    if (bytes === 0 && only !== undefined) {
      yield only;
      next++;
      continue;
    }
    const block = new Uint8Array(bytes);
    writeLatin1(prefix, block);
    let at = prefix.length;
    for (const piece of pieces.slice(next, end)) {
      block.set(piece, at);
      at += piece.length;
    }
    yield block;
    prefix = "";
    next = end;
  }
}

function piecesOf(
  body: Uint8Array | LongBytes | undefined,
): readonly Uint8Array[] {
  if (body === undefined) return NO_PIECES;
  return body instanceof Uint8Array ? [body] : body.pieces;
}

const NO_PIECES: readonly Uint8Array[] = [];

const encoder = new TextEncoder();

/** Writes a text with one byte for each character. Nearly all heads are ASCII, for which the platform is faster. */
function writeLatin1(text: string, into: Uint8Array): void {
  const { read, written } = encoder.encodeInto(text, into);
  if (read === text.length && written === text.length) return;
  for (let at = 0; at < text.length; at++) into[at] = text.charCodeAt(at);
}
