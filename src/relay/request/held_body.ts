import { nextTurn } from "../../core/next_turn.ts";
import type { ByteSpan } from "../../json_scan/byte_span.ts";

/**
 * A caller's body, kept for as long as it may have to be sent again. What is too large for the script's memory is
 * with the platform.
 */
export type HeldBody = Uint8Array<ArrayBuffer> | Blob;

/** A caller's body until nobody needs it any more, however long what needed it is still referred to. */
export interface KeptBody {
  /**
   * The body.
   *
   * @throws {Error} When it was let go.
   */
  get(): HeldBody;
  /** Nobody needs it any more; its memory is free. */
  letGo(): void;
}

/** Keeps a body, and calls `onLetGo` once when it is let go. */
export function keepBody(body: HeldBody, onLetGo: () => void): KeptBody {
  let kept: HeldBody | undefined = body;
  return {
    get() {
      if (kept === undefined) throw new Error("The body was let go");
      return kept;
    },
    letGo() {
      if (kept === undefined) return;
      kept = undefined;
      onLetGo();
    },
  };
}

/** The body itself, for whoever has to read it. */
export function bodyBytes(body: HeldBody): Promise<Uint8Array<ArrayBuffer>> {
  return body instanceof Blob ? body.bytes() : Promise.resolve(body);
}

/** A part of it; of what is with the platform, no more is brought back. */
export async function bodyPart(
  body: HeldBody,
  { start, end }: ByteSpan,
): Promise<Uint8Array<ArrayBuffer>> {
  return body instanceof Blob
    ? await body.slice(start, end).bytes()
    : body.subarray(start, end);
}

const PIECE_BYTES = 64 * 1024;

/** All of it piece by piece; others have their turn between the pieces. */
export async function* bodyPieces(
  body: HeldBody,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < bodyLength(body); start += PIECE_BYTES) {
    yield await bodyPart(body, { start, end: start + PIECE_BYTES });
    await nextTurn();
  }
}

/** How long it is, in bytes. */
export function bodyLength(body: HeldBody): number {
  return body instanceof Blob ? body.size : body.length;
}
