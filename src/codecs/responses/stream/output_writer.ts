import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type {
  OpaqueBlock,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { AnswerEvent, BlockHead } from "../../canonical/stream/event.ts";
import {
  brokenAnswer,
  UpstreamFailure,
} from "../../canonical/failure/failure.ts";
import type { Stop } from "../../canonical/answer/answer.ts";
import { createCallWriter } from "./call_writer.ts";
import { compactionItem, wantsCompaction } from "../request/opaque_item.ts";
import type {
  EventWriter,
  ItemStatus,
  ItemWriter,
  WriterScope,
} from "./item_writer.ts";
import { createMessageWriter, isMessageStart } from "./message_writer.ts";
import { hasFlag, textOf } from "../fields.ts";
import { createReasoningWriter } from "./reasoning_writer.ts";
import { encodeStop } from "../answer/stop.ts";

/**
 * Builds the output items of an answer from its events. Items are built one after another, and each step is written.
 */
interface OutputWriter {
  /** Writes the next event. Only one block may be open at a time. */
  push(event: AnswerEvent): void;
  /** Closes the open item. Throws an {@linkcode UpstreamFailure} when a required item has no content. */
  finish(stop: Stop): void;
  /** The complete items. */
  readonly items: JsonObject[];
  /** The number of characters held so far. */
  readonly held: number;
  /** The number of characters that the model wrote. */
  readonly written: number;
}

/** The head of a block that becomes an item or a part of an item. */
type ItemHead = Exclude<BlockHead, OpaqueBlock>;

/** Creates a writer for one answer. */
export function createOutputWriter(
  context: AnswerContext,
  events: EventWriter,
): OutputWriter {
  return wantsCompaction(context.request)
    ? createCompactionWriter(context, events)
    : new ItemsWriter(context, events);
}

/**
 * Creates a writer that collects the model's text as the summary of the conversation. Clients fail unless the answer
 * has exactly one item.
 */
function createCompactionWriter(
  { ids }: AnswerContext,
  events: EventWriter,
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
      // Otherwise the client would replace the conversation with an empty summary.
      if (summary.trim() === "") throw noSummary();
      const item = compactionItem(ids.next("cmp"), summary);
      writeWhole(events, 0, item);
      items.push(item);
    },
    get held() {
      return summary.length;
    },
    get written() {
      return summary.length;
    },
  };
}

function noSummary(): UpstreamFailure {
  return new UpstreamFailure(
    brokenAnswer("The model wrote no summary of the conversation"),
  );
}

/** Writes the blocks of an answer as items. */
class ItemsWriter implements OutputWriter {
  readonly items: JsonObject[] = [];
  readonly #context: AnswerContext;
  readonly #events: EventWriter;
  #open: ItemWriter | undefined;
  /** True when a block of the open item is being written. Hidden blocks do not count. */
  #hasBlock = false;
  /** True when the next block must not join the open item, because a block came between the two. */
  #isSeparate = false;
  #held = 0;
  #written = 0;

  constructor(context: AnswerContext, events: EventWriter) {
    this.#context = context;
    this.#events = events;
  }

  get held(): number {
    return this.#held;
  }

  get written(): number {
    return this.#written;
  }

  push(event: AnswerEvent): void {
    switch (event.type) {
      case "block-delta":
        this.#written += event.text.length;
        return this.#writeText(event.text, event.logprobs);
      case "block-start":
        return event.block.kind === "opaque"
          ? this.#writeOpaque(event.block)
          : this.#begin(event.block);
      case "block-part":
        return this.#open?.part(event.form);
      case "block-citation":
        return this.#open?.cite(event.citation);
      case "block-seal":
        this.#held += event.sealed.value.length;
        return this.#open?.seal(event.sealed);
      case "block-end":
        if (this.#hasBlock) this.#open?.endBlock();
        this.#hasBlock = false;
    }
  }

  finish(stop: Stop): void {
    this.#close(encodeStop(stop).status);
  }

  #begin(head: ItemHead): void {
    this.#hasBlock = true;
    const isSeparate = this.#isSeparate || isMessageStart(head);
    this.#isSeparate = false;
    if (this.#open?.join(head.kind, isSeparate)) return;
    this.#close("completed");
    this.#open = createItemWriter(head, {
      events: this.#events,
      context: this.#context,
      outputIndex: this.items.length,
    });
  }

  #writeText(text: string, logprobs?: readonly TokenLogprob[]): void {
    this.#held += text.length;
    this.#open?.delta(text, logprobs);
  }

  /** Closes the open item. The next item or the end of the answer determines its `status`. */
  #close(status: ItemStatus): void {
    const item = this.#open?.close(status);
    this.#open = undefined;
    if (item !== undefined) this.items.push(item);
  }

  /** Writes a block of this protocol as an unchanged item, or the text of a block of another protocol. */
  #writeOpaque(block: OpaqueBlock): void {
    this.#isSeparate = true;
    const { protocol, value, text } = block;
    if (protocol === "responses" && isJsonObject(value) && isItem(block)) {
      return this.#writeItem(value);
    }
    if (text === undefined) return this.#context.drop(block.type);
    this.#begin({ kind: "text" });
    this.#writeText(text);
    this.#isSeparate = true;
  }

  #writeItem(value: JsonObject): void {
    this.#close("completed");
    const id = textOf(value.id) || this.#context.ids.next("item");
    const item = { ...value, id };
    writeWhole(this.#events, this.items.length, item);
    this.items.push(item);
    this.#held += JSON.stringify(item).length;
  }
}

function createItemWriter(head: ItemHead, scope: WriterScope): ItemWriter {
  switch (head.kind) {
    case "text":
    case "refusal":
      return createMessageWriter(head, scope);
    case "reasoning":
      return createReasoningWriter(head, scope);
    case "function_call":
    case "custom_call":
      return createCallWriter(head, scope);
  }
}

/** Writes an item that is complete from the start. */
function writeWhole(
  events: EventWriter,
  output_index: number,
  item: JsonObject,
): void {
  events.write("response.output_item.added", { output_index, item });
  events.write("response.output_item.done", { output_index, item });
}

function isItem(block: OpaqueBlock): boolean {
  return !hasFlag(block, "isPart");
}
