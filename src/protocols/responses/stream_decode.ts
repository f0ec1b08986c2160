import type { SseFrame } from "../../core/frame.ts";
import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import type { Stage } from "../../core/stage.ts";
import { isErrorBody } from "../canonical/error_words.ts";
import { type AnswerEvent, brokenEvent } from "../canonical/event.ts";
import { guardDecoder } from "../canonical/guard.ts";
import { textOf } from "./marks.ts";
import { ResponseReader } from "./response_reader.ts";

/** What some providers send after the last event, as another protocol does. */
const DONE = "[DONE]";

/** Reads a Responses stream. Events name their type themselves; `event:` lines may be missing. */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ResponseReader(ids);
  return guardDecoder({
    push(frame, emit) {
      if (frame.data === DONE) return;
      const event = parseJson(frame.data);
      if (!isJsonObject(event)) {
        return emit(
          brokenEvent("The provider sent an event that is no JSON object"),
        );
      }
      reader.push(typeOf(event, frame), event, emit);
    },
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

/** An error without the type of one is one all the same. */
function typeOf(event: JsonObject, frame: SseFrame): string {
  if (frame.event === "error" || isErrorBody(event)) return "error";
  const type = textOf(event.type) || frame.event;
  if (type) return type;
  return event.detail === undefined || event.detail === null ? "" : "error";
}
