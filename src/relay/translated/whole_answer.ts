import { GatewayError } from "../../core/error.ts";
import type { Answer } from "../../protocols/canonical/answer/answer.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import { createStreamFold } from "../../protocols/fold_stream.ts";
import { createIdleWatch } from "../../streams/idle_watch.ts";
import {
  callErrorOf,
  oversized,
  silentUpstream,
} from "../../upstream/failure.ts";
import { readAnswerBytes } from "../../upstream/read_answer.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import type { TranslateAnswerOptions } from "./answer_context.ts";

/** A whole answer longer than this is refused, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream's answer, as its bytes or as what its stream told, and how many bytes it had. */
export interface WholeAnswer {
  readonly answer: Uint8Array<ArrayBuffer> | Answer;
  readonly length: number;
}

/** Reads a stream whole, for a caller who wants one object. */
export async function foldAnswer(
  answer: Response,
  { attempt: { controller, deployment }, to, services }: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const fold = createStreamFold(to.createStreamDecoder(services.ids));
  const idle = createIdleWatch({
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    onIdle: () => controller.abort(silentUpstream()),
  });
  const reader = answer.body &&
    secretsOf(deployment.connection).cover(answer.body.getReader());
  let bytes = 0;
  try {
    for (;;) {
      idle.wait();
      const read = await reader?.read();
      idle.heard();
      if (read === undefined || read.done) {
        return { answer: fold.end(), length: bytes };
      }
      bytes += read.value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      fold.push(read.value);
    }
  } catch (cause) {
    const isTold = cause instanceof UpstreamFailure ||
      cause instanceof GatewayError;
    const error = isTold && !controller.signal.aborted
      ? cause
      : callErrorOf(cause, controller.signal);
    controller.abort();
    throw error;
  } finally {
    idle.stop();
  }
}

/** Reads an answer that is one object. */
export async function readAnswer(
  answer: Response,
  { attempt: { controller, deployment }, services }: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const bytes = await readAnswerBytes(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw oversized();
  const covered = secretsOf(deployment.connection).coverIn(bytes);
  return { answer: covered, length: covered.length };
}
