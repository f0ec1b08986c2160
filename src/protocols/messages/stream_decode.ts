import type { SseFrame } from "../../core/frame.ts";
import type { Ids } from "../../core/ids.ts";
import { isJsonObject, parseJson } from "../../core/json.ts";
import type { Stage } from "../../core/stage.ts";
import { type AnswerEvent, brokenEvent } from "../canonical/event.ts";
import { guardDecoder } from "../canonical/guard.ts";
import { EventReader } from "./event_reader.ts";
import { decodeFailure } from "./failure.ts";

/** What some routers send after the end, as in Chat Completions. */
const STRAY_DONE = "[DONE]";

/**
 * Reads a Messages stream. The kind of an event stands in its data; the `event:` line, which some servers leave
 * out, counts only where the data names no kind. The end is `message_stop` and nothing else.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new EventReader(ids);
  return guardDecoder({
    push(frame, emit) {
      if (frame.data === "" || frame.data === STRAY_DONE) return;
      const event = parseJson(frame.data);
      if (!isJsonObject(event)) {
        emit(brokenEvent("The provider sent an event that is no JSON object"));
      } else if (frame.event === "error") {
        // Of an error without an envelope, `type` is its own.
        emit({ type: "failure", failure: decodeFailure(200, event) });
      } else if (typeof event.type === "string") {
        reader.push(event, emit);
      } else {
        reader.push({ ...event, type: frame.event ?? "" }, emit);
      }
    },
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}
