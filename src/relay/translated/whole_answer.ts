import type { Answer } from "../../protocols/canonical/answer/answer.ts";
import { createStreamFold } from "../../protocols/fold_stream.ts";
import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { failedReading, oversized } from "../../upstream/failure.ts";
import { readAnswerBytes } from "../../upstream/read_answer.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { openBody } from "../open_body.ts";
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
  { body }: UpstreamAnswer,
  { attempt, to, services }: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { controller } = attempt;
  const fold = createStreamFold(to.createStreamDecoder(services.ids));
  if (body === null) return { answer: fold.end(), length: 0 };
  const reader = openBody(body, attempt, services.deadlines);
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { answer: fold.end(), length: bytes };
      bytes += value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      fold.push(value);
    }
  } catch (cause) {
    const failure = failedReading(cause, controller.signal);
    controller.abort(failure);
    throw failure;
  }
}

/** Reads an answer that is one object. */
export async function readAnswer(
  answer: UpstreamAnswer,
  { attempt: { controller, deployment }, services }: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const bytes = await readAnswerBytes(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw oversized();
  secretsOf(deployment.connection).coverIn(bytes);
  return { answer: bytes, length: bytes.length };
}
