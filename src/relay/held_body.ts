/**
 * A caller's body, kept for as long as it may have to be sent again. What is too large for the script's memory is
 * with the platform.
 */
export type HeldBody = Uint8Array<ArrayBuffer> | Blob;

/** The body itself, for whoever has to read it. */
export function bodyBytes(body: HeldBody): Promise<Uint8Array<ArrayBuffer>> {
  return body instanceof Blob ? body.bytes() : Promise.resolve(body);
}

/** How long it is, in bytes. */
export function bodyLength(body: HeldBody): number {
  return body instanceof Blob ? body.size : body.length;
}
