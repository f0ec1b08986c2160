import type { JsonObject } from "../../../core/json.ts";
import type { BlockWriter } from "./block_writer.ts";
import { createCallReader, isCallItem } from "./call_reader.ts";
import { MessageReader } from "./message_reader.ts";
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
  if (item.type === "message") return new MessageReader(item, scope.writer);
  if (item.type === "reasoning") {
    return createReasoningReader(item, scope.writer);
  }
  return isCallItem(item)
    ? createCallReader(item, scope)
    : createOpaqueReader(scope.writer);
}

/** An item of a kind unknown to other protocols counts once it is whole. */
function createOpaqueReader(writer: BlockWriter): ItemReader {
  return {
    take() {},
    finish(item) {
      if (item !== undefined) writer.giveOpaque(opaqueItem(item));
    },
  };
}
