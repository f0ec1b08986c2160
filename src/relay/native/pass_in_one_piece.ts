import { isHidden } from "../../protocols/canonical/failure/failure.ts";
import { CODECS } from "../../protocols/mod.ts";
import { bodyKind } from "../../streams/media_type.ts";
import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { brokenUpstream } from "../../upstream/failure.ts";
import { readBodyBytes } from "../../upstream/read_answer.ts";
import { holdsFailure } from "./beginning.ts";
import { meterWhole } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";
import { noteFailure } from "../note_answer.ts";
import type { PassAnswerOptions } from "./pass_answer_options.ts";
import { passInPieces } from "./pass_in_pieces.ts";

/** A JSON answer that says it is no longer than this goes on in one piece, which is much cheaper than a stream. */
export const ONE_PIECE_BYTES: number = 64 * 1024;

/** An answer that is read whole before any of it goes on. */
export interface OnePieceOptions extends PassAnswerOptions {
  readonly body: ReadableStream<Uint8Array>;
  /** How long it says that it is, in bytes. */
  readonly length: number;
  /** Whether it is JSON, as far as its headers say. */
  readonly isJson: boolean;
}

/**
 * Gives a short answer to the caller once all of it is there.
 *
 * @throws As `passAnswer` does.
 */
export async function passInOnePiece(
  answer: UpstreamAnswer,
  options: OnePieceOptions,
): Promise<Response> {
  const { attempt, protocol, headers, secrets, clock, isJson } = options;
  const { record } = attempt.exchange;
  const { status } = answer;
  const bytes = await readShort(options);
  if (bytes === undefined) throw brokenUpstream("it is longer than it says");
  secrets.coverIn(bytes);
  if (bodyKind(bytes) === "events") {
    const events = new Blob([bytes]).stream();
    return passInPieces(answer, { ...options, body: events, isStream: true });
  }
  const { watch } = CODECS[protocol];
  const text = decoder.decode(bytes);
  if (holdsFailure(text, watch)) {
    const told = { bytes, headers, protocol, secrets, clock };
    const failure = nativeFailure(answer, told);
    if (attempt.mayRepeat || isHidden(failure.failure)) throw failure;
    noteFailure(failure.failure, record.facts);
  }
  if (meterWhole(bytes, { text, watch, record, isJson }) === "cut") {
    throw brokenUpstream("its JSON is not whole");
  }
  record.facts.status = status;
  record.finish("complete");
  return new Response(bytes, { status, headers });
}

const decoder = new TextDecoder();

function readShort(
  { attempt: { controller, deployment }, deadlines, body, length }:
    OnePieceOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return readBodyBytes(body, length, {
    maxBytes: ONE_PIECE_BYTES,
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
}
