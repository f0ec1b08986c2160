import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { BlockEmitter } from "./block_emitter.ts";
import type { ItemReader } from "./reader.ts";
import { otherFields } from "../fields.ts";
import { messageHead } from "../items/message_head.ts";
import { markOwn } from "../marks.ts";
import { opaquePart } from "../request/part_decode.ts";
import { type PartKind, partKind, PartReader } from "./part_reader.ts";

/** Reads a message: each of its parts is a block. */
export class MessageReader implements ItemReader {
  readonly #item: JsonObject;
  readonly #blocks: BlockEmitter;
  readonly #parts: PartReader[] = [];

  /** @param item As far as it is known when it begins. */
  constructor(item: JsonObject, blocks: BlockEmitter) {
    this.#item = item;
    this.#blocks = blocks;
  }

  take(type: string, event: JsonObject): void {
    switch (type) {
      case "response.output_text.delta":
        return this.#openPart("text", event).emit(
          event.delta,
          event.logprobs,
        );
      case "response.refusal.delta":
        return this.#openPart("refusal", event).emit(event.delta);
      case "response.content_part.added":
        return this.#add(event);
      case "response.output_text.done":
        return this.#part("text", event).complete(
          event.text,
          event.logprobs,
        );
      case "response.refusal.done":
        return this.#part("refusal", event).complete(event.refusal);
      case "response.content_part.done":
        if (isJsonObject(event.part)) this.#known(event)?.finish(event.part);
        return;
      case "response.output_text.annotation.added":
        if (isJsonObject(event.annotation)) {
          this.#openPart("text", event).cite(event.annotation);
        }
        return;
    }
  }

  finish(whole?: JsonObject): void {
    let position = 0;
    for (const one of contentOf(whole)) {
      const kind = partKind(one);
      if (kind === undefined) {
        this.#blocks.giveOpaque(opaquePart(one));
        continue;
      }
      const part = this.#parts[position] ?? this.#begin(kind, position);
      part.finish(one);
      position++;
    }
    for (const part of this.#parts) part.close();
  }

  #add({ part, content_index }: JsonObject): void {
    const kind = isJsonObject(part) ? partKind(part) : undefined;
    if (kind !== undefined) this.#begin(kind, content_index);
  }

  /** The part that an event is about, if its beginning was told. */
  #known({ content_index }: JsonObject): PartReader | undefined {
    return this.#parts.findLast(({ key }) => key === content_index);
  }

  /** The part that an event is about; begun now where its beginning was not told. */
  #part(kind: PartKind, event: JsonObject): PartReader {
    return this.#known(event) ?? this.#begin(kind, event.content_index);
  }

  /** The part that an event adds to, which another kind of part or a closed one is not. */
  #openPart(kind: PartKind, event: JsonObject): PartReader {
    const part = this.#known(event);
    return part?.kind === kind && part.isOpen
      ? part
      : this.#begin(kind, event.content_index);
  }

  #begin(kind: PartKind, key: JsonValue | undefined): PartReader {
    const isFirst = this.#parts.length === 0;
    const message = isFirst
      ? messageHead(this.#item, !this.#blocks.hasBlocks)
      : undefined;
    const marks = isFirst ? markMessage(this.#item) : undefined;
    const part = new PartReader({ kind, key, message, marks }, this.#blocks);
    this.#parts.push(part);
    return part;
  }
}

function contentOf(whole: JsonObject | undefined): JsonObject[] {
  return Array.isArray(whole?.content)
    ? whole.content.filter(isJsonObject)
    : [];
}

function markMessage(item: JsonObject): ReturnType<typeof markOwn> {
  return markOwn({
    message: otherFields(item, ["type", "role", "content", "status"]) ?? {},
  });
}
