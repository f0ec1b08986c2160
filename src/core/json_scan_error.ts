/** Why a scan refused its bytes. */
export type JsonScanReason =
  | "syntax"
  | "encoding"
  | "not_object"
  | "duplicate_key";

/** Where a scan stopped, and over which watched key. */
export interface JsonScanErrorOptions {
  /** Offset in bytes of the first one at fault; the length of the body where that ends too early. */
  readonly offset: number;
  /** The watched key at fault; only with `duplicate_key`. */
  readonly key?: string;
}

/**
 * Bytes that are not exactly one JSON object. The message is fit for the caller: it tells what to do and
 * quotes nothing of the body beyond the name of a watched key.
 */
export class JsonScanError extends SyntaxError {
  override readonly name = "JsonScanError";
  readonly reason: JsonScanReason;
  /** Offset in bytes of the first one at fault; the length of the body where that ends too early. */
  readonly offset: number;
  readonly key: string | undefined;

  /**
   * @param reason What kind of fault it is.
   * @param fault What was wrong and what to do about it, without a full stop.
   */
  constructor(
    reason: JsonScanReason,
    fault: string,
    options: JsonScanErrorOptions,
  ) {
    super(`Cannot read the body as one JSON object: ${fault}`);
    this.reason = reason;
    this.offset = options.offset;
    this.key = options.key;
  }
}

/** Refuses the byte at `offset`, or the end of the body there, because JSON's grammar wants another. */
export function failSyntax(bytes: Uint8Array, offset: number): never {
  const fault = offset < bytes.length
    ? `the byte at offset ${offset} does not belong there`
    : `it ends too early, after ${bytes.length} bytes`;
  throw new JsonScanError("syntax", `${fault}; send valid JSON`, {
    offset: Math.min(offset, bytes.length),
  });
}
