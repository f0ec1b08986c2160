import type { SseFrame } from "../../../core/frame.ts";
import type { Ids } from "../../../core/ids.ts";
import type { Stage } from "../../../core/stage.ts";
import { type AnswerEvent, brokenEvent } from "../../canonical/stream/event.ts";
import { textIn } from "../../canonical/stream/event_parser.ts";
import { readFrames } from "../../canonical/stream/read_frames.ts";
import { EventReader } from "./event_reader.ts";
import { decodeFailure } from "../failure.ts";

const TEXT_FIELDS = ["text", "thinking", "partial_json"];

/**
 * Reads a Messages stream. The kind of an event stands in its data; the `event:` line, which some servers leave
 * out, counts only where the data names no kind. The end is `message_stop` and nothing else.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new EventReader(ids);
  return readFrames({
    textPlace: ({ delta }) => textIn(delta, TEXT_FIELDS),
    push(event, name, emit) {
      if (name === "error") {
        // Of an error without an envelope, `type` is its own.
        emit({ type: "failure", failure: decodeFailure(200, event) });
      } else if (typeof event.type === "string") {
        reader.push(event, emit);
      } else {
        reader.push({ ...event, type: name ?? "" }, emit);
      }
    },
    done() {},
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}
