import type { ByteSpan } from "../core/json_scan/scan.ts";
import { spliceBytes } from "../core/splice.ts";

/** Above this size a `Blob` is sent faster than an array, of which `fetch` makes two copies. */
const BLOB_BYTES = 256 * 1024;

/** What is sent upstream of a caller's body. */
export interface NativeBody {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Where the model's name stands, quotes included. */
  readonly modelSpan: ByteSpan;
  /** The upstream's name of the model, where it has another one. */
  readonly renamedTo: string | undefined;
}

/** The caller's bytes, with nothing but the model's name replaced. Either kind carries its length. */
export function nativeBody(
  { body, modelSpan, renamedTo }: NativeBody,
): Uint8Array<ArrayBuffer> | Blob {
  if (renamedTo === undefined) {
    return body.length > BLOB_BYTES ? new Blob([body]) : body;
  }
  const name = new TextEncoder().encode(JSON.stringify(renamedTo));
  if (body.length <= BLOB_BYTES) return spliceBytes(body, modelSpan, name);
  const head = body.subarray(0, modelSpan.start);
  const tail = body.subarray(modelSpan.end);
  return new Blob([head, name, tail]);
}
