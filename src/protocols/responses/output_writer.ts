import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { OpaqueBlock } from "../canonical/block.ts";
import type { AnswerContext } from "../canonical/codec.ts";
import type { AnswerEvent, BlockHead } from "../canonical/event.ts";
import type { Stop } from "../canonical/stop.ts";
import { createCallWriter } from "./call_writer.ts";
import { compactionItem, wantsCompaction } from "./compaction.ts";
import type { ItemWriter, Teller } from "./item_writer.ts";
import { createMessageWriter, isMessageStart } from "./message_writer.ts";
import { ownMarks, textOf } from "./marks.ts";
import { createReasoningWriter } from "./reasoning_writer.ts";
import { encodeStop } from "./stop.ts";

/** Builds the output items of an answer from its events, one item after the other, and tells every step. */
export interface OutputWriter {
  /** Takes the next event; of blocks only one may be open at a time. */
  push(event: AnswerEvent): void;
  /** Closes the item that is open. */
  finish(stop: Stop): void;
  /** The items that are whole. */
  readonly items: JsonObject[];
  /** Characters held so far. */
  readonly held: number;
}

/** A writer for one answer. */
export function createOutputWriter(
  context: AnswerContext,
  teller: Teller,
): OutputWriter {
  return wantsCompaction(context.request)
    ? createCompactionWriter(context, teller)
    : createItemsWriter(context, teller);
}

/** All that the model says is the summary; clients fail on more or fewer items than one. */
function createCompactionWriter(
  { ids }: AnswerContext,
  teller: Teller,
): OutputWriter {
  const items: JsonObject[] = [];
  let summary = "";
  let isText = false;
  return {
    items,
    push(event) {
      if (event.type === "block-start") isText = event.block.kind === "text";
      if (event.type === "block-delta" && isText) summary += event.text;
    },
    finish() {
      const item = compactionItem(ids.next("cmp"), summary);
      teller.tell("response.output_item.added", { output_index: 0, item });
      teller.tell("response.output_item.done", { output_index: 0, item });
      items.push(item);
    },
    get held() {
      return summary.length;
    },
  };
}

function createItemsWriter(
  context: AnswerContext,
  teller: Teller,
): OutputWriter {
  const items: JsonObject[] = [];
  let open: ItemWriter | undefined;
  /** Whether the open item is being written to; a block that nobody sees is not its. */
  let hasBlock = false;
  let held = 0;

  /** An item is told whole only when the next one begins or the answer ends, which says how it ended. */
  function close(status: "completed" | "incomplete"): void {
    const item = open?.close(status);
    open = undefined;
    if (item !== undefined) items.push(item);
  }

  function begin(head: BlockHead): void {
    hasBlock = true;
    if (open?.join(head.kind, isMessageStart(head))) return;
    close("completed");
    const scope = { teller, context, outputIndex: items.length };
    switch (head.kind) {
      case "text":
      case "refusal":
        open = createMessageWriter(head, scope);
        break;
      case "reasoning":
        open = createReasoningWriter(head, scope);
        break;
      case "function_call":
      case "custom_call":
        open = createCallWriter(head, scope);
        break;
    }
  }

  /** The protocol's own item as it was; what another protocol knows shows its text. */
  function giveOpaque(block: OpaqueBlock): void {
    const { protocol, value, text } = block;
    if (protocol === "responses" && isJsonObject(value) && isItem(block)) {
      close("completed");
      return giveItem(value);
    }
    if (text === undefined) return context.drop(block.type);
    begin({ kind: "text" });
    open?.delta(text);
    held += text.length;
  }

  function giveItem(value: JsonObject): void {
    const item = {
      ...value,
      id: textOf(value.id) || context.ids.next("item"),
    };
    const output_index = items.length;
    teller.tell("response.output_item.added", { output_index, item });
    teller.tell("response.output_item.done", { output_index, item });
    items.push(item);
    held += JSON.stringify(item).length;
  }

  return {
    items,
    push(event) {
      switch (event.type) {
        case "block-delta":
          held += event.text.length;
          return open?.delta(event.text);
        case "block-start":
          return event.block.kind === "opaque"
            ? giveOpaque(event.block)
            : begin(event.block);
        case "block-part":
          return open?.part(event.form);
        case "block-citation":
          return open?.cite(event.citation);
        case "block-seal":
          held += event.sealed.value.length;
          return open?.seal(event.sealed);
        case "block-end":
          if (hasBlock) open?.endBlock();
          hasBlock = false;
      }
    },
    finish(stop) {
      close(encodeStop(stop).status);
    },
    get held() {
      return held;
    },
  };
}

function isItem(block: OpaqueBlock): boolean {
  return ownMarks(block).isPart !== true;
}
