import type { Ids } from "@gateway/base/ids";
import { isJsonObject, type JsonValue } from "@gateway/base/json";
import type { Answer } from "../../canonical/answer/answer.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  notAnAnswer,
  UpstreamFailure,
} from "../../canonical/failure/failure.ts";
import { createFold } from "../../canonical/answer/fold.ts";
import { guardAnswer } from "../../canonical/stream/guard.ts";
import { ChunkReader } from "../stream/decode.ts";
import { decodeFailure } from "../errors.ts";

/**
 * Parses a JSON answer in the same way as one large delta of a stream. Throws an {@linkcode UpstreamFailure} if the
 * body is not an answer.
 */
export function decodeAnswer(body: JsonValue, ids: Ids): Answer {
  return guardAnswer(() => readAnswer(body, ids));
}

function readAnswer(body: JsonValue, ids: Ids): Answer {
  if (!isJsonObject(body)) throw notAnAnswer();
  if (isErrorBody(body)) {
    throw new UpstreamFailure(decodeFailure(200, body));
  }
  if (!Array.isArray(body.choices) || body.choices.length === 0) {
    throw notAnAnswer();
  }
  const reader = new ChunkReader(ids);
  const fold = createFold();
  reader.push({ ...body, choices: body.choices.map(ofMessage) }, fold.push);
  reader.finish(fold.push);
  return fold.answer();
}

/** Returns a choice without the empty `delta` that Perplexity puts beside the `message`. */
function ofMessage(choice: JsonValue): JsonValue {
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) return choice;
  const { delta: _delta, ...whole } = choice;
  return whole;
}
