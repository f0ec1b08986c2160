/**
 * A caller's body, kept for as long as it may have to be sent again. What is too large for the script's memory is
 * with the platform.
 */
export type HeldBody = Uint8Array<ArrayBuffer> | Blob;

/** Above this size a `Blob` is sent faster than an array, of which `fetch` makes two copies. */
const BLOB_BYTES = 256 * 1024;

/**
 * Keeps a body that is to be sent as it is.
 *
 * @param bytes Not to be used any more: where the body goes to the platform, their memory is given back at once
 * and not when it is collected, which may be minutes later.
 */
export function holdBody(bytes: Uint8Array<ArrayBuffer>): HeldBody {
  if (bytes.length <= BLOB_BYTES) return bytes;
  const blob = new Blob([bytes]);
  bytes.buffer.transfer(0);
  return blob;
}

/** The body itself, for whoever has to read it. */
export function bodyBytes(body: HeldBody): Promise<Uint8Array<ArrayBuffer>> {
  return body instanceof Blob ? body.bytes() : Promise.resolve(body);
}
