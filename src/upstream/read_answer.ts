import type { Deadlines } from "../core/deadlines.ts";
import { type JsonValue, parseJson } from "../core/json.ts";
import { LimitedBytesTransformStream } from "../core/std.ts";
import {
  brokenUpstream,
  oversized,
  reasonOf,
  silentUpstream,
} from "./failure.ts";

/** What bounds the reading of a body. */
export interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** How long it may take, in milliseconds; 0 means for ever. */
  readonly withinMs: number;
  /** Ends the exchange; its reason is thrown when it is aborted meanwhile. */
  readonly controller: AbortController;
}

/** What bounds the reading of a good answer's whole body. */
export interface ReadAnswerOptions extends ReadBodyOptions {
  readonly maxBytes: number;
}

/**
 * Reads the body of an upstream's good answer as JSON.
 *
 * @returns The value, or `undefined` when it is not JSON.
 * @throws {GatewayError} `upstream` when it breaks off or is too long, `timeout` when it does not come in time.
 */
export async function readAnswerJson(
  answer: Response,
  options: ReadAnswerOptions,
): Promise<JsonValue | undefined> {
  const bytes = await readUpTo(answer, options);
  if (bytes === undefined) throw oversized();
  return parseJson(new TextDecoder().decode(bytes));
}

/** An error that takes more than this to explain itself is known by its status alone, in bytes. */
const MAX_ERROR_BYTES = 256 * 1024;

/**
 * Reads the body of an upstream's error.
 *
 * @returns `undefined` when it is too long.
 * @throws {GatewayError} `upstream` when it breaks off, `timeout` when it does not come in time.
 */
export function readErrorBytes(
  answer: Response,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return readUpTo(answer, { ...options, maxBytes: MAX_ERROR_BYTES });
}

/** Reads a body whole; `undefined` when it is longer than `maxBytes`, and then the rest is not wanted. */
async function readUpTo(
  answer: Response,
  { maxBytes, deadlines, withinMs, controller }: ReadAnswerOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const takeBack = deadlines.start(
    withinMs,
    () => controller.abort(silentUpstream()),
  );
  try {
    const limit = new LimitedBytesTransformStream(maxBytes, { error: true });
    const body = answer.body?.pipeThrough(limit) ?? null;
    return await new Response(body).bytes();
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    if (cause instanceof RangeError) return undefined;
    throw brokenUpstream(reasonOf(cause), cause);
  } finally {
    takeBack();
  }
}
