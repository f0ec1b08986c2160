import { Upload } from "../../upstream/call.ts";
import { LoopTurns } from "@gateway/base/time/turns";
import type { ByteEdit, ByteSpan } from "@gateway/json_scan";
import { joinBytes, LongBytes } from "@gateway/base/streams/bytes";

/** A caller's body. The body is kept while it may be sent again. A long body is a list of pieces. */
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
  /** Registers an upload that reads the body. The bytes stay until the upload has finished. */
  lendTo(upload: Pick<Upload, "whenThrough">): void;
  /** Releases the body. Its memory is freed once all uploads have finished. */
  release(): void;
}

/** Keeps a body, and calls `onRelease` once when its memory is released. */
export function keepBody(body: HeldBody, onRelease: () => void): KeptBody {
  let kept: HeldBody | undefined = body;
  let readers = 1;

  function leave(): void {
    if (--readers > 0) return;
    if (body instanceof LongBytes) body.free();
    onRelease();
  }

  return {
    get() {
      if (kept === undefined) {
        throw new Error("Cannot read the body: it was released.");
      }
      return kept;
    },
    lendTo(upload) {
      readers++;
      upload.whenThrough(leave);
    },
    release() {
      if (kept !== undefined) leave();
      kept = undefined;
    },
  };
}

/** Returns the body as one array. A long body is copied in pieces, with turns for other work between them. */
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
 * Returns the caller's bytes with edits. The edits must not overlap. A long body is returned as an upload that borrows
 * the bytes. The length of the result is known in both cases.
 */
export function nativeBody(
  body: KeptBody,
  edits: readonly ByteEdit[],
): Uint8Array<ArrayBuffer> | Upload {
  const held = body.get();
  if (held instanceof Uint8Array) {
    return edits.length === 0 ? held : joinBytes(spliceBytes([held], edits));
  }
  const upload = new Upload(
    edits.length === 0 ? held : new LongBytes(spliceBytes(held.pieces, edits)),
  );
  body.lendTo(upload);
  return upload;
}

/**
 * Returns the pieces of a body with edits, in the same memory. All edits are made in one pass over the pieces, because
 * a body may need many edits.
 *
 * @throws {RangeError} When an edit is outside the body, or overlaps another.
 */
export function spliceBytes(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  edits: readonly ByteEdit[],
): readonly Uint8Array<ArrayBuffer>[] {
  const encoder = new TextEncoder();
  const sorted = edits.toSorted((a, b) => a.span.start - b.span.start);
  const spliced: Uint8Array<ArrayBuffer>[] = [];
  let [next, before, from] = [0, 0, 0];
  for (const piece of pieces) {
    const end = before + piece.length;
    while (from <= end) {
      const edit = sorted[next];
      const to = Math.min(edit?.span.start ?? end, end);
      if (to > from) spliced.push(piece.subarray(from - before, to - before));
      from = Math.max(from, to);
      if (edit === undefined || edit.span.start > end) break;
      const { span, text } = edit;
      if (span.start < from || span.end < span.start) throw outside(span);
      if (text !== "") spliced.push(encoder.encode(text));
      from = span.end;
      next++;
    }
    before = end;
  }
  const left = sorted[next];
  if (left !== undefined) throw outside(left.span);
  if (from > before) throw outside({ start: from, end: from });
  return spliced;
}

function outside({ start, end }: ByteSpan): RangeError {
  return new RangeError(
    `Cannot splice bytes ${start} to ${end}: they are outside the body, or in another edit.`,
  );
}
