import { type Deadlines, within } from "../core/time/deadlines.ts";
import type { BodySource } from "../relay/request/body.ts";
import { abandon, createByteReader } from "../streams/byte_reader.ts";
import { createIdleWatch } from "../streams/watched_reader.ts";

/**
 * `Deno.serve` reads what is left of a body when the answer is out, and knows no bound. Of up to this much that does
 * no harm, and its caller, who may read no answer before all is sent, gets a clean one: twice what the largest path
 * takes.
 */
const MOST_BYTES = 64 * 1024 * 1024;

/** How long the rest of a body of unknown length may take, in milliseconds. */
const MOST_MS = 10_000;

/** How long its caller may send nothing, in milliseconds. */
const SILENCE_MS = 2_000;

/** How long a caller has to read the answer before the connection breaks, in milliseconds. */
const LINGER_MS = 100;

/**
 * Ends the connection of a request that brings more than any path takes: its answer goes out whole and then breaks,
 * since nothing else makes `Deno.serve` let go of a connection.
 *
 * @returns The answer itself for every other request; one of a body of unknown length is read to its end first,
 * where that comes soon.
 */
export async function endRequest(
  source: BodySource,
  response: Response,
  deadlines: Deadlines,
): Promise<Response> {
  const isTooMuch = isEndless(source) ||
    // Only then: to ask for a body that has been read makes the platform build a stream of nothing.
    source.headers.has("transfer-encoding") &&
      await goesOn(source.request, deadlines);
  return isTooMuch ? await cutBehind(response, deadlines) : response;
}

/** A body of a method that has none cannot be read at all, whatever its length. */
function isEndless({ request, headers }: BodySource): boolean {
  const length = Number(headers.get("content-length") ?? 0);
  if (length > MOST_BYTES) return true;
  const { method } = request;
  return (method === "GET" || method === "HEAD") &&
    headers.has("transfer-encoding") && request.body === null;
}

/** Whether a body of unknown length goes on for longer than it may. */
async function goesOn(
  { body }: Request,
  deadlines: Deadlines,
): Promise<boolean> {
  return body !== null && !body.locked && !await discardBody(body, deadlines);
}

/** Reads a body for nothing; says whether it came to its end, or broke off, within the bounds. */
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
    for (let bytes = 0; bytes <= MOST_BYTES;) {
      silence.wait();
      const { done, value } = await reader.read();
      if (done) return true;
      bytes += value.length;
    }
    return false;
  }

  try {
    return await within(Promise.race([readToEnd(), silent.promise]), {
      ms: MOST_MS,
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

/** All of a response, and then no end. */
async function cutBehind(
  response: Response,
  deadlines: Deadlines,
): Promise<Response> {
  const bytes = await response.bytes();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      deadlines.start(
        LINGER_MS,
        () => controller.error(new Error("The caller brings too much")),
      );
    },
  });
  const { status, headers } = response;
  headers.delete("content-length");
  headers.set("connection", "close");
  return new Response(body, { status, headers });
}
