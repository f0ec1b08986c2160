import {
  breaksCharacter,
  completesMark,
  END,
  isBeforeDocument,
  isWithinMark,
} from "./grammar.ts";

/** What kind of fault made a scan refuse its bytes. */
export type JsonScanReason =
  | "syntax"
  | "encoding"
  | "not_object"
  | "duplicate_key";

/** Where the fault is, and which watched key it concerns. */
interface JsonScanErrorOptions {
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

/** A byte that no rule of the grammar takes. */
interface WrongByte {
  /** The grammar's, before the byte. */
  readonly state: number;
  readonly byte: number;
  /** In the document. */
  readonly offset: number;
}

/** What a JSON value other than an object begins with. */
const VALUE_STARTS = '"-0123456789[tfn';

/**
 * Refuses a byte.
 *
 * @throws {JsonScanError} Always; its reason is not `duplicate_key`.
 */
export function failAt({ state, byte, offset }: WrongByte): never {
  if (completesMark(state, byte)) failMark();
  if (isWithinMark(state)) failSyntax(0);
  if (breaksCharacter(state, byte)) failEncoding(offset);
  if (state === END) failBehind(offset);
  const isValue = VALUE_STARTS.includes(String.fromCharCode(byte));
  if (isBeforeDocument(state) && isValue) failOtherValue(offset);
  failSyntax(offset);
}

function failMark(): never {
  const fault = "it begins with a byte order mark; send UTF-8 without one";
  throw new JsonScanError("encoding", fault, { offset: 0 });
}

function failSyntax(offset: number): never {
  const fault = `the byte at offset ${offset} does not belong there; ` +
    "send valid JSON";
  throw new JsonScanError("syntax", fault, { offset });
}

function failEncoding(offset: number): never {
  const fault = `the byte at offset ${offset} is not valid UTF-8; ` +
    "send JSON in UTF-8";
  throw new JsonScanError("encoding", fault, { offset });
}

function failBehind(offset: number): never {
  const fault = `more follows behind the object, at offset ${offset}; ` +
    "send the object alone";
  throw new JsonScanError("syntax", fault, { offset });
}

function failOtherValue(offset: number): never {
  const fault =
    `another value begins at offset ${offset}; send one JSON object`;
  throw new JsonScanError("not_object", fault, { offset });
}

/**
 * Refuses bytes that end too early, `length` of them.
 *
 * @throws {JsonScanError} Always, with `syntax`.
 */
export function failEnd(length: number): never {
  const fault = `it ends too early, after ${length} bytes; ` +
    "send the whole object";
  throw new JsonScanError("syntax", fault, { offset: length });
}

/**
 * Refuses a body of nothing, or of `length` bytes of space.
 *
 * @throws {JsonScanError} Always, with `syntax`.
 */
export function failEmpty(length: number): never {
  throw new JsonScanError("syntax", "it is empty; send one JSON object", {
    offset: length,
  });
}
