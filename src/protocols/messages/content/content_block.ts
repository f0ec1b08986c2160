import type { SseFrame } from "../../../core/frame.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";

/** A block on the wire; it begins with the first thing said. */
export interface ContentBlock {
  /** Begins the block, once. */
  begin(block: JsonObject, emit: Emit<SseFrame>): void;
  /** Writes a delta, given as JSON text: deltas are what most of a stream consists of. */
  writeDelta(delta: string, emit: Emit<SseFrame>): void;
  /** Ends the block, if it ever began. */
  end(emit: Emit<SseFrame>): void;
}

/**
 * A block that has not begun.
 *
 * @param takeIndex Gives the index of the next block.
 */
export function createContentBlock(takeIndex: () => number): ContentBlock {
  let index = -1;
  /** What stands before each delta. */
  let head = "";
  return {
    begin(block, emit) {
      if (index >= 0) return;
      index = takeIndex();
      head = `{"type":"content_block_delta","index":${index},"delta":`;
      const type = "content_block_start";
      const data = JSON.stringify({ type, index, content_block: block });
      emit({ event: type, data });
    },
    writeDelta(delta, emit) {
      emit({ event: "content_block_delta", data: `${head}${delta}}` });
    },
    end(emit) {
      if (index < 0) return;
      const type = "content_block_stop";
      emit({ event: type, data: `{"type":"${type}","index":${index}}` });
    },
  };
}
