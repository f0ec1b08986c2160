import type { AnswerContext, StreamEncoder } from "../../canonical/codec.ts";
import { type ChunkWriter, createChunkWriter } from "./chunk_writer.ts";
import { DeltaWriter } from "./delta_writer.ts";
import { asStreamError } from "../../canonical/failure/failure.ts";
import { errorObject } from "../failure.ts";

/** Writes a Chat Completions stream: an event is a chunk with one delta, or nothing; the end is some more. */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  const deltas = new DeltaWriter(context);
  let chunks: ChunkWriter | undefined;
  return {
    push(event, emit) {
      if (event.type === "start") chunks = createChunkWriter(event, context);
      const delta = deltas.write(event);
      if (delta !== undefined && chunks !== undefined) {
        const isDelta = event.type === "block-delta";
        emit(chunks.chunkOf(delta, isDelta ? event.logprobs : undefined));
      }
      if (event.type === "end") chunks?.end(event).forEach(emit);
      if (event.type === "failure") {
        const error = errorObject(asStreamError(event.failure));
        emit({ event: "error", data: JSON.stringify({ error }) });
      }
    },
    end() {},
    keepAlive: (emit) => emit({ comment: "keep-alive" }),
  };
}
