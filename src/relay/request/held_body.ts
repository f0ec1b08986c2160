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

/** Returns a part of the body. Only that part of a long body is copied. */
export function bodyPart(
  body: HeldBody,
  { start, end }: ByteSpan,
): Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array
    ? body.subarray(start, end)
    : body.slice(start, end).join();
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
 * Returns the caller's bytes with edits, the last one of the body first. A long body becomes an upload, which borrows the
 * body. Both have a known length.
 */
export function nativeBody(
  body: KeptBody,
  edits: readonly ByteEdit[],
): Uint8Array<ArrayBuffer> | Upload {
  const sent = edits.reduce(edited, body.get());
  if (sent instanceof Uint8Array) return sent;
  const upload = new Upload(sent);
  body.lendTo(upload);
  return upload;
}

function edited(body: HeldBody, { span, text }: ByteEdit): HeldBody {
  const put = new TextEncoder().encode(text);
  if (body instanceof Uint8Array) return spliceBytes(body, span, put);
  const head = body.slice(0, span.start);
  const tail = body.slice(span.end);
  return new LongBytes([...head.pieces, put, ...tail.pieces]);
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
