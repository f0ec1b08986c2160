import { Turns } from "../../core/time/turns.ts";
import type { ByteSpan } from "../../json_scan/key.ts";
import { LongBytes } from "../../streams/bytes.ts";
import type { Upload } from "../../upstream/call.ts";

/** A caller's body, kept for as long as it may have to be sent again; a long one is in pieces. */
export type HeldBody = Uint8Array<ArrayBuffer> | LongBytes;

/** A caller's body until nobody needs it any more, however long what needed it is still referred to. */
export interface KeptBody {
  /**
   * The body.
   *
   * @throws {Error} When it was let go.
   */
  get(): HeldBody;
  /** An upload reads it, and may go on with that when it is let go. */
  lendTo(upload: Pick<Upload, "isThrough">): void;
  /** Nobody needs it any more, apart from uploads that are not through; its memory is free. */
  letGo(): void;
}

/** Keeps a body, and calls `onLetGo` once when it is let go. */
export function keepBody(body: HeldBody, onLetGo: () => void): KeptBody {
  let kept: HeldBody | undefined = body;
  const uploads: Pick<Upload, "isThrough">[] = [];
  return {
    get() {
      if (kept === undefined) throw new Error("The body was let go");
      return kept;
    },
    lendTo(upload) {
      uploads.push(upload);
    },
    letGo() {
      if (kept === undefined) return;
      const isLent = uploads.some(({ isThrough }) => !isThrough);
      if (kept instanceof LongBytes && !isLent) kept.free();
      kept = undefined;
      onLetGo();
    },
  };
}

/**
 * The body itself, for whoever has to read it; of a long one it is a copy, and others have their turn while that is
 * made.
 */
export async function bodyBytes(
  body: HeldBody,
): Promise<Uint8Array<ArrayBuffer>> {
  if (body instanceof Uint8Array) return body;
  const bytes = new Uint8Array(body.length);
  let at = 0;
  for await (const piece of bodyPieces(body)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** A part of it; no more of a long one is copied. */
export function bodyPart(
  body: HeldBody,
  { start, end }: ByteSpan,
): Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array
    ? body.subarray(start, end)
    : body.slice(start, end).join();
}

const PIECE_BYTES = 64 * 1024;

/** All of it piece by piece; others have their turn between the pieces. */
export async function* bodyPieces(
  body: HeldBody,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const turns = new Turns();
  for (let start = 0; start < body.length; start += PIECE_BYTES) {
    yield bodyPart(body, { start, end: start + PIECE_BYTES });
    turns.count(PIECE_BYTES);
    await turns.next();
  }
}
