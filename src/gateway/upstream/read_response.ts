import type { HttpResponse } from "@gateway/http1";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { HeaderFields } from "@gateway/base/header_fields";
import {
  createByteReader,
  readAll,
  WholeBody,
} from "@gateway/base/streams/byte_reader";
import { WatchedReader } from "@gateway/base/streams/watched_reader";
import { failedReading, UpstreamCallError } from "./failure.ts";

type ResponseBody = Pick<HttpResponse, "body" | "headers">;

/** The limits on reading a body. */
export interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** The idle timeout, in milliseconds; 0 means none. */
  readonly idleMs: number;
  /** Aborts the exchange. The reader then throws the reason of the abort. */
  readonly controller: AbortController;
}

/** The limits on reading the whole body of a successful response. */
interface ReadBytesOptions extends ReadBodyOptions {
  readonly maxBytes: number;
}

/**
 * Reads the body of a successful upstream response. While bytes arrive, reading may take as long as the caller waits,
 * because some providers send white space while their model works.
 *
 * @returns `undefined` when the body is longer than `maxBytes`.
 * @throws {GatewayError} `upstream` when the body breaks off, `timeout` when the upstream falls silent.
 */
export async function readResponseBytes(
  { body, headers }: ResponseBody,
  { maxBytes, deadlines, idleMs, controller }: ReadBytesOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const arrived = body instanceof WholeBody ? body.take() : undefined;
  if (arrived !== undefined) {
    return arrived.length > maxBytes ? undefined : arrived;
  }
  const { signal } = controller;
  const watched = { deadlines, idleMs, signal };
  try {
    const reader = new WatchedReader(createByteReader(body), watched);
    return await readAll(reader, maxBytes, declaredBytes(headers));
  } catch (cause) {
    const failure = failedReading(cause, signal);
    controller.abort(failure);
    throw failure;
  }
}

/**
 * Returns the declared length of a response's body, if any. The header of a compressed body does not count, because
 * that header declares the compressed length. The header of a chunked body does not count either (RFC 9112, section
 * 6.3).
 */
export function declaredBytes(headers: HeaderFields): number | undefined {
  const isOther = headers.has("content-encoding") ||
    headers.has("transfer-encoding");
  const length = isOther ? NaN : Number(headers.get("content-length") ?? NaN);
  return Number.isNaN(length) ? undefined : length;
}

/** The longest error body that is read, in bytes. If the body is longer, only the status counts. */
const MAX_ERROR_BYTES = 256 * 1024;

/**
 * The timeout for reading an error body, in milliseconds. It is short, because the caller waits for the next attempt
 * and no model is at work.
 */
const MAX_ERROR_MS = 30_000;

/**
 * Reads the body of an upstream's error. A failed reading does not change the failure: if the body of a 400 breaks off,
 * the failure is still a 400.
 *
 * @returns `undefined` when the body is too long or too slow, and when it breaks off.
 * @throws The reason of the controller's signal when anything but the timeout aborts the exchange.
 */
export async function readErrorBytes(
  answer: ResponseBody,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { deadlines, controller } = options;
  const late = new Error("The error's body is too slow");
  const cancel = deadlines.start(MAX_ERROR_MS, () => controller.abort(late));
  try {
    return await readResponseBytes(answer, {
      ...options,
      maxBytes: MAX_ERROR_BYTES,
    });
  } catch (error) {
    const isIncomplete = error === late || error instanceof UpstreamCallError;
    if (!isIncomplete) throw error;
    return undefined;
  } finally {
    cancel();
  }
}
