import type { ByteSpan } from "../core/json_scan/byte_span.ts";

/**
 * A caller's body, kept for as long as it may have to be sent again. What is too large for the script's memory is
 * with the platform.
 */
export type HeldBody = Uint8Array<ArrayBuffer> | Blob;

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

const PIECE_BYTES = 1024 * 1024;

/** All of it piece by piece; others have their turn between the pieces. */
export async function* bodyPieces(
  body: HeldBody,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < bodyLength(body); start += PIECE_BYTES) {
    yield await bodyPart(body, { start, end: start + PIECE_BYTES });
  }
}

/** How long it is, in bytes. */
export function bodyLength(body: HeldBody): number {
  return body instanceof Blob ? body.size : body.length;
}
