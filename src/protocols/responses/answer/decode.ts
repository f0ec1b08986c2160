import type { Ids } from "../../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Answer } from "../../canonical/answer/answer.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  brokenAnswer,
  UpstreamFailure,
} from "../../canonical/failure/failure.ts";
import { createFold } from "../../canonical/answer/fold.ts";
import { guardAnswer } from "../../canonical/stream/guard.ts";
import { decodeFailure } from "../errors.ts";
import { ResponseReader } from "../stream/decode.ts";

/**
 * Reads a JSON answer, by the same code as a stream.
 *
 * @throws {UpstreamFailure} When it is no answer, reports an error, or is not finished.
 */
export function decodeAnswer(body: JsonValue, ids: Ids): Answer {
  if (!isJsonObject(body)) throw broken("sent something that is no answer");
  if (isError(body)) throw new UpstreamFailure(decodeFailure(200, body));
  if (!Array.isArray(body.output)) {
    throw broken("sent something that is no answer");
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

/** Some providers leave the status out, or spell it `complete`. */
function statusOf({ status }: JsonObject): "completed" | "incomplete" {
  switch (status) {
    case "incomplete":
      return status;
    case "queued":
    case "in_progress":
    case "cancelled":
      throw broken(`sent an answer that is ${status}`);
    default:
      return "completed";
  }
}

function broken(what: string): UpstreamFailure {
  return new UpstreamFailure(brokenAnswer(`The provider ${what}`));
}
