import type { Answer } from "../../protocols/canonical/answer/answer.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import { Turns } from "../../core/time/turns.ts";
import {
  type BodyFold,
  createBodyDecoder,
  createBodyFold,
} from "../../protocols/decode_body.ts";
import { createByteReader } from "../../streams/byte_reader.ts";
import type { ByteReader } from "../../streams/look_ahead.ts";
import { readAll } from "../../streams/read_all.ts";
import { bodyKind } from "../../streams/media_type.ts";
import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { failedReading, oversized } from "../../upstream/failure.ts";
import { readAnswerBytes } from "../../upstream/read_answer.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { TRANSLATED_BYTES } from "../open_body.ts";
import type { TranslateAnswerOptions } from "./answer_context.ts";
import { EMPTY_ANSWER, MAX_EMPTY_BYTES } from "./translating_reader.ts";

/** A whole answer longer than this is refused, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream's answer, as its bytes or as what its stream told, and how many bytes it had. */
export interface WholeAnswer {
  readonly answer: Uint8Array<ArrayBuffer> | Answer;
  readonly length: number;
}

/** Reads an answer that streams, for a caller who wants one object. */
export async function foldAnswer(
  reader: ByteReader,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const fold = foldOf(options);
  let bytes = 0;
  let emptyBytes = 0;
  return await failing(options, async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { answer: fold.end(), length: bytes };
      bytes += value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      emptyBytes = fold.push(value) ? 0 : emptyBytes + value.length;
      if (emptyBytes > MAX_EMPTY_BYTES) throw new UpstreamFailure(EMPTY_ANSWER);
    }
  });
}

/** Reads an answer that is one object. */
export async function readAnswer(
  answer: UpstreamAnswer,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { attempt: { controller, deployment }, services } = options;
  const turns = new Turns();
  const bytes = await readAnswerBytes(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw oversized();
  // To join, to cover and to look at 64 MiB takes some 50 ms each.
  turns.count(bytes.length);
  await turns.next();
  secretsOf(deployment.connection).coverIn(bytes);
  turns.count(bytes.length);
  await turns.next();
  return await wholeOf(bytes, options);
}

/** Reads such an answer from a reader that has seen its beginning. */
export function readSeen(
  source: ByteReader,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  return failing(options, async () => {
    const bytes = await readAll(source, MAX_ANSWER_BYTES);
    if (bytes === undefined) throw oversized();
    return await wholeOf(bytes, options);
  });
}

/** Events that are labelled as one object are read as what they are. */
async function wholeOf(
  bytes: Uint8Array<ArrayBuffer>,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { length } = bytes;
  if (bodyKind(bytes) !== "events") return { answer: bytes, length };
  const events = ReadableStream.from([bytes]);
  const mostBytes = TRANSLATED_BYTES;
  return await foldAnswer(createByteReader(events, { mostBytes }), options);
}

function foldOf({ to, services }: TranslateAnswerOptions): BodyFold {
  return createBodyFold(createBodyDecoder(to, services.ids));
}

/** Ends the exchange when the reading fails. */
async function failing<Read>(
  { attempt: { controller } }: TranslateAnswerOptions,
  read: () => Promise<Read>,
): Promise<Read> {
  try {
    return await read();
  } catch (cause) {
    const failure = failedReading(cause, controller.signal);
    controller.abort(failure);
    throw failure;
  }
}
