import { type Deadlines, within } from "../core/time/deadlines.ts";
import type { BodySource } from "../relay/request/body.ts";
import { abandon, createByteReader } from "../streams/byte_reader.ts";
import { createIdleWatch } from "../streams/watched_reader.ts";

/**
 * The largest unread rest of a body, in bytes: twice the limit of the largest path. `Deno.serve` reads the rest after
 * the response, without a limit. Up to this size that is harmless, and a caller that sends everything before it reads
 * gets the whole response.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/** The longest time for the rest of a body of unknown length, in milliseconds. */
const MAX_MS = 10_000;

/** The longest silence of its caller, in milliseconds. */
const SILENCE_MS = 2_000;

/** The time in which a caller can read the response before the connection closes, in milliseconds. */
const LINGER_MS = 100;

/**
 * Closes the connection of a request with a body larger than any path takes. All bytes of the response are sent, and
 * then its body fails, because nothing else makes `Deno.serve` close a connection.
 *
 * @returns The response itself for every other request. A body of unknown length is first read to its end, within the
 * limits.
 */
export async function endRequest(
  source: BodySource,
  response: Response,
  deadlines: Deadlines,
): Promise<Response> {
  const isTooLong = isEndless(source) ||
    // Checked only here: accessing a body that has been read makes the platform create an empty stream.
    source.headers.has("transfer-encoding") &&
      await exceedsLimits(source.request, deadlines);
  return isTooLong ? await closeAfter(response, deadlines) : response;
}

/** Returns true when a body is too long, or belongs to a method without a body and cannot be read. */
function isEndless({ request, headers }: BodySource): boolean {
  const length = Number(headers.get("content-length") ?? 0);
  if (length > MAX_BYTES) return true;
  const { method } = request;
  return (method === "GET" || method === "HEAD") &&
    headers.has("transfer-encoding") && request.body === null;
}

/** Returns true when a body of unknown length exceeds the limits. */
async function exceedsLimits(
  { body }: Request,
  deadlines: Deadlines,
): Promise<boolean> {
  return body !== null && !body.locked && !await discardBody(body, deadlines);
}

/** Reads and discards a body. Returns true when it ends or breaks off within the limits. */
async function discardBody(
  body: ReadableStream<Uint8Array>,
  deadlines: Deadlines,
): Promise<boolean> {
  const reader = createByteReader(body);
  const silent = Promise.withResolvers<boolean>();
  const silence = createIdleWatch({
    deadlines,
    idleMs: SILENCE_MS,
    onIdle: () => silent.resolve(false),
  });

  async function readToEnd(): Promise<boolean> {
    for (let bytes = 0; bytes <= MAX_BYTES;) {
      silence.wait();
      const { done, value } = await reader.read();
      if (done) return true;
      bytes += value.length;
    }
    return false;
  }

  try {
    return await within(Promise.race([readToEnd(), silent.promise]), {
      ms: MAX_MS,
      start: deadlines.start,
      onLate: () => false,
    });
  } catch {
    return true;
  } finally {
    silence.stop();
    abandon(reader);
  }
}

/** Returns a response with the same bytes, whose body then fails. */
async function closeAfter(
  response: Response,
  deadlines: Deadlines,
): Promise<Response> {
  const bytes = await response.bytes();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      deadlines.start(
        LINGER_MS,
        () => controller.error(new Error("The body is too large")),
      );
    },
  });
  const { status, headers } = response;
  headers.delete("content-length");
  headers.set("connection", "close");
  return new Response(body, { status, headers });
}
