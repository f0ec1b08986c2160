import type { SseFrame } from "../../../core/frame.ts";
import type { Ids } from "../../../core/ids.ts";
import type { Stage } from "../../../core/stage.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import { type AnswerEvent, brokenEvent } from "../../canonical/stream/event.ts";
import { readFrames } from "../../canonical/stream/read_frames.ts";
import { ChunkReader } from "./chunk_reader.ts";
import { decodeFailure } from "../failure.ts";
import { textPlace } from "./text_place.ts";

/**
 * Reads a Chat Completions stream. The end comes with `[DONE]`, since usage may follow the last chunk of the
 * answer; where a provider sends no `[DONE]`, with the end of the bytes after a `finish_reason`.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ChunkReader(ids);
  return readFrames({
    textPlace,
    push(chunk, name, emit) {
      if (name === "error" || isErrorBody(chunk)) {
        emit({ type: "failure", failure: decodeFailure(200, chunk) });
      } else reader.push(chunk, emit);
    },
    done: (emit) => reader.finish(emit),
    end(emit) {
      if (reader.hasFinishReason) return reader.finish(emit);
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}
