import { wordSet } from "@gateway/base/collections";
import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Answer } from "../../canonical/answer/answer.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  notAnAnswer,
  UpstreamFailure,
} from "../../canonical/failure/failure.ts";
import { createFold } from "../../canonical/answer/fold.ts";
import { guardAnswer } from "../../canonical/stream/guard.ts";
import { EventReader } from "../stream/decode.ts";
import { decodeFailure } from "../errors.ts";
import { otherFields } from "../request/fields.ts";

/**
 * The fields of a message that are not copied into its `message_delta`: other events have these fields, or they say
 * nothing.
 */
const MESSAGE_FIELDS = wordSet("id type role model content");

/**
 * Parses a JSON answer in the same way as the events of a stream. Throws an {@linkcode UpstreamFailure} if the body is
 * not an answer.
 */
export function decodeAnswer(body: JsonValue, ids: Ids): Answer {
  return guardAnswer(() => decode(body, ids));
}

function decode(body: JsonValue, ids: Ids): Answer {
  if (!isJsonObject(body)) throw notAnAnswer();
  if (isErrorBody(body)) {
    throw new UpstreamFailure(decodeFailure(200, body));
  }
  const content = contentOf(body);
  if (content === undefined) throw notAnAnswer();
  const reader = new EventReader(ids);
  const fold = createFold();
  for (const event of eventsOf(body, content)) reader.push(event, fold.push);
  return fold.answer();
}

/** Returns the blocks of an answer. Some servers send a string in place of the blocks. */
function contentOf({ content }: JsonObject): readonly JsonValue[] | undefined {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : undefined;
}

/** Returns the answer as the shortest stream of events. */
function* eventsOf(
  message: JsonObject,
  content: readonly JsonValue[],
): Generator<JsonObject> {
  const { usage, ...rest } = otherFields(message, MESSAGE_FIELDS);
  const { id, model } = message;
  yield { type: "message_start", message: { id, model } };
  for (const [index, block] of content.entries()) {
    yield { type: "content_block_start", index, content_block: block };
    yield { type: "content_block_stop", index };
  }
  yield { type: "message_delta", delta: rest, usage };
  yield { type: "message_stop" };
}
