import { LoopTurns } from "../../core/time/turns.ts";
import type { ByteEdit, ByteSpan } from "../../json_scan/key.ts";
import { LongBytes } from "../../streams/bytes.ts";
import { Upload } from "../../upstream/call.ts";

/** A caller's body, which is kept while it may be sent again. A long body is a list of pieces. */
export type HeldBody = Uint8Array<ArrayBuffer> | LongBytes;

/**
 * Holds a caller's body until no attempt needs it. Releasing it frees the memory, even while references to the holder
 * remain.
 */
export interface KeptBody {
  /**
   * Returns the body.
   *
   * @throws {Error} After {@linkcode KeptBody.release}.
   */
  get(): HeldBody;
  /** Registers an upload that reads the body. The body's bytes stay until it has finished. */
  lendTo(upload: Pick<Upload, "isThrough">): void;
  /** Releases the body and its memory. Uploads that have not finished may still read it. */
  release(): void;
}

/** Keeps a body, and calls `onRelease` once when it is released. */
export function keepBody(body: HeldBody, onRelease: () => void): KeptBody {
  let kept: HeldBody | undefined = body;
  const uploads: Pick<Upload, "isThrough">[] = [];
  return {
    get() {
      if (kept === undefined) {
        throw new Error("Cannot read the body: it was released.");
      }
      return kept;
    },
    lendTo(upload) {
      uploads.push(upload);
    },
    release() {
      if (kept === undefined) return;
      const isLent = uploads.some(({ isThrough }) => !isThrough);
      if (kept instanceof LongBytes && !isLent) kept.free();
      kept = undefined;
      onRelease();
    },
  };
}

/** Returns the body as one array. A long body is copied, with turns for other work meanwhile. */
export async function bodyBytes(
  body: HeldBody,
): Promise<Uint8Array<ArrayBuffer>> {
  if (body instanceof Uint8Array) return body;
  const bytes = new Uint8Array(body.length);
  let at = 0;
  for await (const piece of bodyChunks(body)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Returns a part of the body, in the same memory. */
export function partOf(body: HeldBody, { start, end }: ByteSpan): HeldBody {
  return body instanceof Uint8Array
    ? body.subarray(start, end)
    : body.slice(start, end);
}

/** Returns a part of the body as one array. Only that part of a long body is copied. */
export function bodyPart(
  body: HeldBody,
  span: ByteSpan,
): Uint8Array<ArrayBuffer> {
  const part = partOf(body, span);
  return part instanceof Uint8Array ? part : part.join();
}

const PIECE_BYTES = 64 * 1024;

/** Yields the body in pieces, with turns for other work between them. */
export async function* bodyChunks(
  body: HeldBody,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const turns = new LoopTurns();
  for (let start = 0; start < body.length; start += PIECE_BYTES) {
    yield bodyPart(body, { start, end: start + PIECE_BYTES });
    turns.count(PIECE_BYTES);
    await turns.next();
  }
}

/**
 * Returns the caller's bytes with edits, of which none overlaps another. A long body becomes an upload, which borrows the
 * body. Both have a known length.
 */
export function nativeBody(
  body: KeptBody,
  edits: readonly ByteEdit[],
): Uint8Array<ArrayBuffer> | Upload {
  const held = body.get();
  const sorted = edits.toSorted((a, b) => a.span.start - b.span.start);
  if (held instanceof Uint8Array) return sorted.reduceRight(edited, held);
  const upload = new Upload(
    edits.length > 0 ? spliced(held, sorted) : held,
  );
  body.lendTo(upload);
  return upload;
}

function edited(
  bytes: Uint8Array<ArrayBuffer>,
  { span, text }: ByteEdit,
): Uint8Array<ArrayBuffer> {
  return spliceBytes(bytes, span, new TextEncoder().encode(text));
}

/** Returns the body with edits, the first one first, in one pass over its pieces. */
function spliced(body: LongBytes, edits: readonly ByteEdit[]): LongBytes {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let [next, before, from] = [0, 0, 0];
  for (const piece of body.pieces) {
    const end = before + piece.length;
    while (from < end) {
      const edit = edits[next];
      const to = Math.min(edit?.span.start ?? end, end);
      if (to > from) pieces.push(piece.subarray(from - before, to - before));
      from = to;
      if (edit === undefined || to === end) break;
      if (edit.text !== "") pieces.push(new TextEncoder().encode(edit.text));
      from = edit.span.end;
      next++;
    }
    before = end;
  }
  return new LongBytes(pieces);
}

/**
 * Returns a copy of `bytes` with `replacement` in place of `span`.
 *
 * @throws {RangeError} When `span` is outside `bytes`.
 */
export function spliceBytes(
  bytes: Uint8Array,
  span: ByteSpan,
  replacement: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const { start, end } = span;
  if (start < 0 || start > end || end > bytes.length) {
    throw new RangeError(
      `Cannot splice bytes ${start} to ${end}: there are ${bytes.length}.`,
    );
  }
  const spliced = new Uint8Array(
    bytes.length - (end - start) + replacement.length,
  );
  spliced.set(bytes.subarray(0, start));
  spliced.set(replacement, start);
  spliced.set(bytes.subarray(end), start + replacement.length);
  return spliced;
}
