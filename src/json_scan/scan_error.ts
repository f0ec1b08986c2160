import {
  breaksCharacter,
  completesMark,
  END,
  isBeforeDocument,
  isWithinMark,
} from "./grammar.ts";

/** The kind of error for which a scan rejects its bytes. */
type JsonScanReason =
  | "syntax"
  | "encoding"
  | "not_object"
  | "duplicate_key";

/** The position of an error, and the key at fault. */
interface JsonScanErrorOptions {
  /** The offset of the first wrong byte; the length of a document that ends too early. */
  readonly offset: number;
  /** The watched key that occurs twice; only with `duplicate_key`. */
  readonly key?: string;
}

/**
 * The error for bytes that are not exactly one JSON object. The message may be sent to the caller, because it quotes
 * nothing of the body but the name of a watched key.
 */
export class JsonScanError extends SyntaxError {
  override readonly name = "JsonScanError";
  readonly reason: JsonScanReason;
  /** The offset of the first wrong byte; the length of a document that ends too early. */
  readonly offset: number;
  readonly key: string | undefined;

  /** @param fault What is wrong with the body and what to send instead. Quotes nothing of the body. */
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

/** A byte that the grammar does not allow. */
interface WrongByte {
  /** The state of the grammar before the byte. */
  readonly state: number;
  readonly byte: number;
  /** The offset in the document. */
  readonly offset: number;
}

/** The first characters of JSON values other than objects. */
const VALUE_STARTS = '"-0123456789[tfn';

/**
 * Rejects a byte.
 *
 * @throws {JsonScanError} Always; its reason is not `duplicate_key`.
 */
export function failAt({ state, byte, offset }: WrongByte): never {
  if (completesMark(state, byte)) failMark();
  if (isWithinMark(state)) failSyntax(0);
  if (breaksCharacter(state, byte)) failEncoding(offset);
  if (state === END) failTrailing(offset);
  const isValue = VALUE_STARTS.includes(String.fromCharCode(byte));
  if (isBeforeDocument(state) && isValue) failOtherValue(offset);
  failSyntax(offset);
}

function failMark(): never {
  const fault = "it begins with a byte order mark. Send UTF-8 without one.";
  throw new JsonScanError("encoding", fault, { offset: 0 });
}

function failSyntax(offset: number): never {
  const fault = `the byte at offset ${offset} is not allowed there. ` +
    "Send valid JSON.";
  throw new JsonScanError("syntax", fault, { offset });
}

function failEncoding(offset: number): never {
  const fault = `the byte at offset ${offset} is not valid UTF-8. ` +
    "Send JSON in UTF-8.";
  throw new JsonScanError("encoding", fault, { offset });
}

function failTrailing(offset: number): never {
  const fault = `more follows the object, at offset ${offset}. ` +
    "Send the object alone.";
  throw new JsonScanError("syntax", fault, { offset });
}

function failOtherValue(offset: number): never {
  const fault =
    `another value begins at offset ${offset}. Send one JSON object.`;
  throw new JsonScanError("not_object", fault, { offset });
}

/**
 * Rejects an incomplete body of `length` bytes.
 *
 * @throws {JsonScanError} Always, with `syntax`.
 */
export function failEnd(length: number): never {
  const fault = `it ends too early, after ${length} bytes. ` +
    "Send the whole object.";
  throw new JsonScanError("syntax", fault, { offset: length });
}

/**
 * Rejects a body that is empty or consists of `length` bytes of white space.
 *
 * @throws {JsonScanError} Always, with `syntax`.
 */
export function failEmpty(length: number): never {
  throw new JsonScanError("syntax", "it is empty. Send one JSON object.", {
    offset: length,
  });
}
