import type { Deadlines } from "../core/time/deadlines.ts";
import { createByteReader } from "../streams/byte_reader.ts";
import type { ByteReader } from "../streams/look_ahead.ts";
import { createWatchedReader } from "../streams/watched_reader.ts";
import { secretsOf } from "../upstream/secrets.ts";
import type { Attempt } from "./attempt.ts";

/** So much of an answer is read at once, in bytes, until it shows in what pieces it comes. */
const FIRST_BYTES = 16 * 1024;

/** How an answer's body is read. */
export interface OpenBodyOptions {
  readonly deadlines: Deadlines;
  /** Most bytes of a chunk; default: as many as come. */
  readonly mostBytes?: number | undefined;
}

/**
 * Most bytes of a chunk that is to be translated: what somebody wrote to hold the event loop takes a microsecond a byte.
 */
export const TRANSLATED_BYTES: number = 16 * 1024;

/**
 * Reads the body of an answer as it comes from the upstream, whose silence is counted here and nowhere else, with
 * what must not be seen in it covered. Throws `IdleError` when the upstream is silent for too long, and the reason
 * of the attempt's signal when that aborts.
 */
export function openBody(
  body: ReadableStream<Uint8Array>,
  { deployment: { connection }, controller: { signal } }: Attempt,
  { deadlines, mostBytes }: OpenBodyOptions,
): ByteReader {
  const chunks = createByteReader(body, { firstBytes: FIRST_BYTES, mostBytes });
  const reader = createWatchedReader(chunks, {
    deadlines,
    idleMs: connection.timeouts.idleMs,
    signal,
  });
  return secretsOf(connection).cover(reader);
}
