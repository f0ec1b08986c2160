import type { Deadlines } from "../core/time/deadlines.ts";
import { createByteReader } from "../streams/byte_reader.ts";
import type { ByteReader } from "../streams/look_ahead.ts";
import { createWatchedReader } from "../streams/watched_reader.ts";
import { secretsOf } from "../upstream/secrets.ts";
import type { Attempt } from "./attempt.ts";

/** So much of an answer is read at once, in bytes, until it shows in what pieces it comes. */
const FIRST_BYTES = 16 * 1024;

/**
 * Reads the body of an answer as it comes from the upstream, whose silence is counted here and nowhere else, with
 * what must not be seen in it covered. Throws `IdleError` when the upstream is silent for too long, and the reason
 * of the attempt's signal when that aborts.
 */
export function openBody(
  body: ReadableStream<Uint8Array>,
  { deployment: { connection }, controller: { signal } }: Attempt,
  deadlines: Deadlines,
): ByteReader {
  const reader = createWatchedReader(createByteReader(body, FIRST_BYTES), {
    deadlines,
    idleMs: connection.timeouts.idleMs,
    signal,
  });
  return secretsOf(connection).cover(reader);
}
