import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Answer } from "../../canonical/answer/answer.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  brokenAnswer,
  notAnAnswer,
  UpstreamFailure,
} from "../../canonical/failure/failure.ts";
import { createFold } from "../../canonical/answer/fold.ts";
import { guardAnswer } from "../../canonical/stream/guard.ts";
import { decodeFailure } from "../errors.ts";
import { ResponseReader } from "../stream/decode.ts";

/**
 * Parses a JSON answer in the same way as the last event of a stream. Throws an {@linkcode UpstreamFailure} for an
 * error or an incomplete answer.
 */
export function decodeAnswer(body: JsonValue, ids: Ids): Answer {
  if (!isJsonObject(body)) throw notAnAnswer();
  if (isError(body)) throw new UpstreamFailure(decodeFailure(200, body));
  if (!Array.isArray(body.output)) {
    throw notAnAnswer();
  }
  const type = `response.${statusOf(body)}`;
  return guardAnswer(() => {
    const fold = createFold();
    new ResponseReader(ids).push(type, { response: body }, fold.push);
    return fold.answer();
  });
}

function isError(body: JsonObject): boolean {
  if (body.status === "failed" || isErrorBody(body)) return true;
  return body.output === undefined && body.detail !== undefined;
}

/** Returns the status of an answer. Some providers leave the status out, or spell it `complete`. */
function statusOf({ status }: JsonObject): "completed" | "incomplete" {
  switch (status) {
    case "incomplete":
      return status;
    case "queued":
    case "in_progress":
    case "cancelled":
      throw new UpstreamFailure(
        brokenAnswer(`The provider sent an answer that is ${status}`),
      );
    default:
      return "completed";
  }
}
