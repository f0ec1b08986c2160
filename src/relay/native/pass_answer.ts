import { isEventStream, isJson } from "../../upstream/media_type.ts";
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
export async function passAnswer(
  answer: Response,
  options: PassAnswerOptions,
): Promise<Response> {
  const { status, body, headers } = answer;
  const { record } = options.attempt.exchange;
  if (body === null) {
    record.facts.status = status;
    record.finish("complete");
    return new Response(null, { status, headers: options.headers });
  }
  const type = headers.get("content-type") ?? "";
  const isStream = isEventStream(type);
  const mayBeJson = type === "" || isJson(type);
  return !isStream && isShort(headers)
    ? await passInOnePiece(answer, { ...options, isJson: mayBeJson })
    : await passInPieces(answer, {
      ...options,
      body,
      isStream,
      isJson: mayBeJson,
    });
}

function isShort(headers: Headers): boolean {
  const bytes = declaredBytes(headers);
  return bytes !== undefined && bytes <= ONE_PIECE_BYTES;
}
