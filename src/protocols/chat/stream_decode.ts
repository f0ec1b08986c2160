import type { SseFrame } from "../../core/frame.ts";
import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import type { Stage } from "../../core/stage.ts";
import { isErrorBody } from "../canonical/error_words.ts";
import { type AnswerEvent, brokenEvent } from "../canonical/event.ts";
import { guardDecoder } from "../canonical/guard.ts";
import { ChunkReader } from "./chunk_reader.ts";
import { decodeFailure } from "./failure.ts";

/** What ends a stream. */
const DONE = "[DONE]";

/**
 * Reads a Chat Completions stream. The end comes with `[DONE]`, since usage may follow the last chunk of the
 * answer; where a provider sends no `[DONE]`, with the end of the bytes after a `finish_reason`.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ChunkReader(ids);
  return guardDecoder({
    push(frame, emit) {
      if (frame.data === DONE) return reader.finish(emit);
      const chunk = parseJson(frame.data);
      if (!isJsonObject(chunk)) {
        emit(brokenEvent("The provider sent an event that is no JSON object"));
      } else if (isError(frame, chunk)) {
        emit({ type: "failure", failure: decodeFailure(200, chunk) });
      } else {
        reader.push(chunk, emit);
      }
    },
    end(emit) {
      if (reader.hasFinishReason) return reader.finish(emit);
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

function isError(frame: SseFrame, chunk: JsonObject): boolean {
  return frame.event === "error" || isErrorBody(chunk);
}
