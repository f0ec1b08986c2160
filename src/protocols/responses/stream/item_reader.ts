import type { JsonObject } from "../../../core/json.ts";
import type { Ids } from "../../../core/ids.ts";
import type { BlockWriter } from "./block_writer.ts";
import { createCallReader, isCallItem } from "./call_reader.ts";
import { MessageReader } from "./message_reader.ts";
import { opaqueItem } from "../items/opaque_item.ts";
import { createReasoningReader } from "./reasoning_reader.ts";

/** Reads one output item, from the events about it or from the finished item alone. */
export interface ItemReader {
  /** Takes an event about the item. Ignores what it does not know. */
  take(type: string, event: JsonObject): void;
  /**
   * Gives what the events left out, and closes the item's blocks.
   *
   * @param item The finished item; absent when the answer ends without it.
   */
  finish(item?: JsonObject): void;
}

/** What every reader of an item needs. */
export interface ReaderScope {
  readonly writer: BlockWriter;
  /** For calls that come without an id. */
  readonly ids: Ids;
}

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
