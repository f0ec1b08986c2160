import type { SseFrame } from "../../../core/frame.ts";
import type { Ids } from "../../../core/ids.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Stage } from "../../../core/stage.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import { type AnswerEvent, brokenEvent } from "../../canonical/stream/event.ts";
import { readFrames } from "../../canonical/stream/read_frames.ts";
import { textOf } from "../fields.ts";
import { ResponseReader } from "./response_reader.ts";

/** Reads a Responses stream. Events name their type themselves; `event:` lines may be missing. */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ResponseReader(ids);
  return readFrames({
    push: (event, name, emit) => reader.push(typeOf(event, name), event, emit),
    done() {},
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

/** An error without the type of one is one all the same. */
function typeOf(event: JsonObject, name: string | undefined): string {
  if (name === "error" || isErrorBody(event)) return "error";
  const type = textOf(event.type) || name;
  if (type) return type;
  return event.detail === undefined || event.detail === null ? "" : "error";
}
