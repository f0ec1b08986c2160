/**
 * Types for `deno-std`, the npm edition of `@std`. This edition ships no types. A host that reaches JSR may map
 * `@std/…` to `jsr:@std/…` in `deno.json` instead; the signatures are the same.
 */
import { mapValues as stdMapValues } from "@std/collections/map-values";
import { LimitedBytesTransformStream as StdLimitedBytes } from "@std/streams/limited-bytes-transform-stream";
import { toText as stdToText } from "@std/streams/to-text";
import { generate as stdUuidV5 } from "@std/uuid/v5";

/** Returns a record with the same keys, each value mapped by `make`. */
export const mapValues: <Value, Name extends string, Result>(
  record: Readonly<Record<Name, Value>>,
  make: (value: Value, name: Name) => Result,
) => Record<Name, Result> = stdMapValues;

/** Passes bytes on, up to `size`. More bytes end the stream or, with `error`, break it with a `RangeError`. */
export const LimitedBytesTransformStream: new (
  size: number,
  options?: { readonly error?: boolean },
) => TransformStream<Uint8Array, Uint8Array> = StdLimitedBytes;

/** Reads a stream of UTF-8 as text. The stream must have a bound. */
export const toText: (stream: ReadableStream<Uint8Array>) => Promise<string> =
  stdToText;

/** Returns the UUIDv5 of `data` in `namespace`. */
export const uuidV5: (namespace: string, data: Uint8Array) => Promise<string> =
  stdUuidV5;
