import type { JsonObject } from "../../../core/json.ts";
import type { BlockEmitter } from "./block_emitter.ts";
import { createCallReader, isCallItem } from "./call_reader.ts";
import { createMessageReader } from "./message_reader.ts";
import { opaqueItem } from "../items/opaque_item.ts";
import type { ItemReader, ReaderScope } from "./reader.ts";
import { createReasoningReader } from "./reasoning_reader.ts";

/**
 * A reader for an item.
 *
 * @param item As far as it is known when it begins.
 */
export function createItemReader(
  item: JsonObject,
  scope: ReaderScope,
): ItemReader {
  if (item.type === "message") return createMessageReader(item, scope.blocks);
  if (item.type === "reasoning") {
    return createReasoningReader(item, scope.blocks);
  }
  return isCallItem(item)
    ? createCallReader(item, scope)
    : createOpaqueReader(scope.blocks);
}

/** An item of a kind unknown to other protocols counts once it is whole. */
function createOpaqueReader(blocks: BlockEmitter): ItemReader {
  return {
    take() {},
    finish(item) {
      if (item !== undefined) blocks.giveOpaque(opaqueItem(item));
    },
  };
}
