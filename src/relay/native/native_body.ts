import type { ByteSpan } from "../../json_scan/byte_span.ts";
import { spliceBytes } from "../../json_scan/splice.ts";
import { LongBytes } from "../../streams/long_bytes.ts";
import { Upload } from "../../upstream/upload.ts";
import type { HeldBody, KeptBody } from "../request/held_body.ts";

/** What is sent upstream of a caller's body. */
export interface NativeBody {
  readonly body: KeptBody;
  /** Where the model's name stands, quotes included; `undefined` where the path names it. */
  readonly modelSpan: ByteSpan | undefined;
  /** The upstream's name of the model, where it has another one. */
  readonly renamedTo: string | undefined;
}

/**
 * The caller's bytes, with nothing but the model's name replaced; of a long body an upload, which the body is lent to.
 * Either kind carries its length.
 */
export function nativeBody(
  { body, modelSpan, renamedTo }: NativeBody,
): Uint8Array<ArrayBuffer> | Upload {
  const held = body.get();
  const sent = renamedTo === undefined || modelSpan === undefined
    ? held
    : rename(held, modelSpan, renamedTo);
  if (sent instanceof Uint8Array) return sent;
  const upload = new Upload(sent);
  body.lendTo(upload);
  return upload;
}

function rename(
  body: HeldBody,
  modelSpan: ByteSpan,
  renamedTo: string,
): HeldBody {
  const name = new TextEncoder().encode(JSON.stringify(renamedTo));
  if (body instanceof Uint8Array) return spliceBytes(body, modelSpan, name);
  const head = body.slice(0, modelSpan.start);
  const tail = body.slice(modelSpan.end);
  return new LongBytes([...head.pieces, name, ...tail.pieces]);
}
