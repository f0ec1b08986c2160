import { GatewayError } from "../core/error.ts";
import type { Answer } from "../protocols/canonical/answer.ts";
import { UpstreamFailure } from "../protocols/canonical/failure.ts";
import { createStreamFold } from "../protocols/fold_stream.ts";
import { createIdleWatch } from "../streams/idle_watch.ts";
import {
  brokenUpstream,
  oversized,
  reasonOf,
  silentUpstream,
} from "../upstream/failure.ts";
import { readAnswerJson } from "../upstream/read_answer.ts";
import type { TranslateAnswerOptions } from "./translated_context.ts";

/** A whole answer longer than this is refused, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Reads a stream whole, for a caller who wants one object. */
export async function foldAnswer(
  answer: Response,
  { attempt: { controller, candidate }, to, tools }: TranslateAnswerOptions,
): Promise<Answer> {
  const fold = createStreamFold(to.createStreamDecoder(tools.ids));
  const idle = createIdleWatch({
    deadlines: tools.deadlines,
    idleMs: candidate.connection.timeouts.idleMs,
    onIdle: () => controller.abort(silentUpstream()),
  });
  const reader = answer.body?.getReader();
  let bytes = 0;
  try {
    for (;;) {
      idle.wait();
      const read = await reader?.read();
      idle.heard();
      if (read === undefined || read.done) return fold.end();
      bytes += read.value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      fold.push(read.value);
    }
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    controller.abort();
    const isTold = cause instanceof UpstreamFailure ||
      cause instanceof GatewayError;
    throw isTold ? cause : brokenUpstream(reasonOf(cause), cause);
  } finally {
    idle.stop();
  }
}

/** Reads an answer that is one object. */
export async function readAnswer(
  answer: Response,
  { attempt: { controller, candidate }, to, tools }: TranslateAnswerOptions,
): Promise<Answer> {
  const json = await readAnswerJson(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: tools.deadlines,
    idleMs: candidate.connection.timeouts.idleMs,
    controller,
  });
  if (json === undefined) throw brokenUpstream("it is not JSON");
  return to.decodeAnswer(json, tools.ids);
}
