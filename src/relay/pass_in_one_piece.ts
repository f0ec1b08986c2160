import { isJsonObject, parseJson } from "../core/json.ts";
import { WATCHES } from "../protocols/watch.ts";
import {
  brokenUpstream,
  reasonOf,
  silentUpstream,
} from "../upstream/failure.ts";
import { createBodyMeter } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";
import type { PassAnswerOptions } from "./pass_answer.ts";

/**
 * Gives a short answer to the caller once all of it is there.
 *
 * @throws As `passAnswer` does.
 */
export async function passInOnePiece(
  answer: Response,
  options: PassAnswerOptions,
): Promise<Response> {
  const { attempt, protocol, headers } = options;
  const { record } = attempt.exchange;
  const { status } = answer;
  const bytes = await readShort(answer, options);
  const watch = WATCHES[protocol];
  if (attempt.mayRepeat && mayTellFailure(bytes)) {
    const body = parseJson(new TextDecoder().decode(bytes));
    if (isJsonObject(body) && watch.failureOf(body) !== undefined) {
      throw nativeFailure(answer, { bytes, headers, protocol });
    }
  }
  const meter = createBodyMeter(watch, record);
  meter.push(bytes);
  meter.end(true);
  record.facts.status = status;
  record.finish("complete");
  return new Response(bytes, { status, headers });
}

async function readShort(
  answer: Response,
  { attempt: { controller, candidate }, deadlines }: PassAnswerOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const takeBack = deadlines.start(
    candidate.connection.timeouts.idleMs,
    () => controller.abort(silentUpstream()),
  );
  try {
    return await answer.bytes();
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw brokenUpstream(reasonOf(cause), cause);
  } finally {
    takeBack();
  }
}

/** Where an answer's first keys stand, in bytes. */
const HEAD_BYTES = 256;

const FAILURE_REGEXP =
  /"error"\s*:\s*["{]|"type"\s*:\s*"error"|"status"\s*:\s*"failed"/;

/** Whether it is worth parsing: a few microseconds, for every answer. */
function mayTellFailure(bytes: Uint8Array): boolean {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES));
  return FAILURE_REGEXP.test(head);
}
