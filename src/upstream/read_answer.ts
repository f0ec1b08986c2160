import type { Deadlines } from "../core/deadlines.ts";
import { type JsonValue, parseJson } from "../core/json.ts";
import { LimitedBytesTransformStream } from "../core/std.ts";
import { brokenUpstream, reasonOf, silentUpstream } from "./failure.ts";

/** What bounds the reading of an answer's whole body. */
export interface ReadAnswerOptions {
  readonly maxBytes: number;
  readonly deadlines: Deadlines;
  /** How long it may take, in milliseconds; 0 means for ever. */
  readonly withinMs: number;
  /** Ends the exchange; its reason is thrown when it is aborted meanwhile. */
  readonly controller: AbortController;
}

/**
 * Reads the body of an upstream's answer as JSON.
 *
 * @returns The value, or `undefined` when it is not JSON.
 * @throws As {@linkcode readAnswerBytes} does.
 */
export async function readAnswerJson(
  answer: Response,
  options: ReadAnswerOptions,
): Promise<JsonValue | undefined> {
  const bytes = await readAnswerBytes(answer, options);
  return parseJson(new TextDecoder().decode(bytes));
}

/**
 * Reads the body of an upstream's answer whole.
 *
 * @throws {GatewayError} `upstream` when it breaks off or is too long, `timeout` when it does not come in time.
 */
export async function readAnswerBytes(
  answer: Response,
  { maxBytes, deadlines, withinMs, controller }: ReadAnswerOptions,
): Promise<Uint8Array<ArrayBuffer>> {
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
    if (cause instanceof RangeError) throw brokenUpstream("it is too long");
    throw brokenUpstream(reasonOf(cause), cause);
  } finally {
    takeBack();
  }
}
