import type { ByteSpan } from "../../json_scan/byte_span.ts";
import { spliceBytes } from "../../json_scan/splice.ts";
import type { HeldBody } from "../request/held_body.ts";

/** What is sent upstream of a caller's body. */
export interface NativeBody {
  readonly body: HeldBody;
  /** Where the model's name stands, quotes included; `undefined` where the path names it. */
  readonly modelSpan: ByteSpan | undefined;
  /** The upstream's name of the model, where it has another one. */
  readonly renamedTo: string | undefined;
}

/** The caller's bytes, with nothing but the model's name replaced. Either kind carries its length. */
export function nativeBody(
  { body, modelSpan, renamedTo }: NativeBody,
): HeldBody {
  if (renamedTo === undefined || modelSpan === undefined) return body;
  const name = new TextEncoder().encode(JSON.stringify(renamedTo));
  if (!(body instanceof Blob)) return spliceBytes(body, modelSpan, name);
  const head = body.slice(0, modelSpan.start);
  const tail = body.slice(modelSpan.end);
  return new Blob([head, name, tail]);
}
