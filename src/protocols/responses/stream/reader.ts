import type { Ids } from "../../../core/ids.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { BlockEmitter } from "./block_emitter.ts";

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
  readonly blocks: BlockEmitter;
  /** For calls that come without an id. */
  readonly ids: Ids;
}
