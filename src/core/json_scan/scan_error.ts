/** What kind of fault made a scan refuse its bytes. */
export type JsonScanReason =
  | "syntax"
  | "encoding"
  | "not_object"
  | "duplicate_key";

/** Where the fault is, and which watched key it concerns. */
export interface JsonScanErrorOptions {
  /** Offset in bytes of the first byte at fault; the number of bytes where they end too early. */
  readonly offset: number;
  /** The watched key that stands twice; only with `duplicate_key`. */
  readonly key?: string;
}

/**
 * The bytes are not exactly one JSON object. The message is fit for the caller: it says what to do, and
 * of the body it tells an offset and at most the name of a watched key.
 */
export class JsonScanError extends SyntaxError {
  override readonly name = "JsonScanError";
  readonly reason: JsonScanReason;
  /** Offset in bytes of the first byte at fault; the number of bytes where they end too early. */
  readonly offset: number;
  readonly key: string | undefined;

  /** @param fault What is wrong and what to do about it; quotes nothing of the body. */
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

/**
 * Refuses the byte at `offset`, or the end of `bytes` there, because the grammar of JSON wants another.
 *
 * @throws {JsonScanError} Always, with `syntax`.
 */
export function failSyntax(bytes: Uint8Array, offset: number): never {
  if (offset < bytes.length) {
    const fault = `the byte at offset ${offset} does not belong there; ` +
      "send valid JSON";
    throw new JsonScanError("syntax", fault, { offset });
  }
  const fault = `it ends too early, after ${bytes.length} bytes; ` +
    "send the whole object";
  throw new JsonScanError("syntax", fault, { offset: bytes.length });
}

/**
 * Refuses the byte at `offset` because it breaks a character of UTF-8.
 *
 * @throws {JsonScanError} Always, with `encoding`.
 */
export function failEncoding(offset: number): never {
  const fault = `the byte at offset ${offset} is not valid UTF-8; ` +
    "send JSON in UTF-8";
  throw new JsonScanError("encoding", fault, { offset });
}
