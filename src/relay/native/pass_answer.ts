import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { isEventStream, isJson } from "../../streams/media_type.ts";
import { declaredBytes } from "../../upstream/read_answer.ts";
import type { PassAnswerOptions } from "./pass_answer_options.ts";
import { ONE_PIECE_BYTES, passInOnePiece } from "./pass_in_one_piece.ts";
import { passInPieces } from "./pass_in_pieces.ts";

/**
 * Gives an upstream's good answer to the caller with its status and bytes unchanged, but for the gateway's own key
 * if it should stand in it, and finishes the record when it ends.
 *
 * @throws {UpstreamFailure} When a failure stands in its place, and something can be tried again.
 * @throws {GatewayError} When the answer breaks off or is silent before any of it went out.
 * @throws {CallerLeft} When the caller leaves before any of it went out.
 */
export function passAnswer(
  answer: UpstreamAnswer,
  options: PassAnswerOptions,
): Promise<Response> {
  const { status, body, headers } = answer;
  const { record } = options.attempt.exchange;
  if (body === null) {
    record.facts.status = status;
    record.finish("complete");
    const empty = new Response(null, { status, headers: options.headers });
    return Promise.resolve(empty);
  }
  const type = headers.get("content-type") ?? "";
  const isStream = isEventStream(type);
  const mayBeJson = type === "" || isJson(type);
  const length = isStream ? undefined : declaredBytes(headers);
  return length !== undefined && length <= ONE_PIECE_BYTES
    ? passInOnePiece(answer, { ...options, body, length, isJson: mayBeJson })
    : passInPieces(answer, { ...options, body, isStream, isJson: mayBeJson });
}
