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

/**
 * Reads a message: each of its parts is a block.
 *
 * @param item As far as it is known when it begins.
 */
export function createMessageReader(
  item: JsonObject,
  blocks: BlockEmitter,
): ItemReader {
  const parts: PartReader[] = [];

  function begin(kind: PartKind, key: JsonValue | undefined): PartReader {
    const isFirst = parts.length === 0;
    const message = isFirst
      ? messageHead(item, !blocks.hasBlocks())
      : undefined;
    const marks = isFirst ? markMessage(item) : undefined;
    const part = new PartReader({ kind, key, message, marks }, blocks);
    parts.push(part);
    return part;
  }

  function add({ part, content_index }: JsonObject): void {
    const kind = isJsonObject(part) ? partKind(part) : undefined;
    if (kind !== undefined) begin(kind, content_index);
  }

  /** The part that an event is about, if its beginning was told. */
  function known({ content_index }: JsonObject): PartReader | undefined {
    return parts.findLast(({ key }) => key === content_index);
  }

  /** The part that an event is about; begun now where its beginning was not told. */
  function partOf(kind: PartKind, event: JsonObject): PartReader {
    return known(event) ?? begin(kind, event.content_index);
  }

  /** The part that an event adds to, which another kind of part or a closed one is not. */
  function openPart(kind: PartKind, event: JsonObject): PartReader {
    const part = known(event);
    return part?.kind === kind && part.isOpen
      ? part
      : begin(kind, event.content_index);
  }

  return {
    take(type, event) {
      switch (type) {
        case "response.output_text.delta":
          return openPart("text", event).emit(event.delta, event.logprobs);
        case "response.refusal.delta":
          return openPart("refusal", event).emit(event.delta);
        case "response.content_part.added":
          return add(event);
        case "response.output_text.done":
          return partOf("text", event).complete(event.text, event.logprobs);
        case "response.refusal.done":
          return partOf("refusal", event).complete(event.refusal);
        case "response.content_part.done":
          if (isJsonObject(event.part)) known(event)?.finish(event.part);
          return;
        case "response.output_text.annotation.added":
          if (isJsonObject(event.annotation)) {
            openPart("text", event).cite(event.annotation);
          }
          return;
      }
    },
    finish(whole) {
      let position = 0;
      for (const one of contentOf(whole)) {
        const kind = partKind(one);
        if (kind === undefined) {
          blocks.giveOpaque(opaquePart(one));
          continue;
        }
        const part = parts[position] ?? begin(kind, position);
        part.finish(one);
        position++;
      }
      for (const part of parts) part.close();
    },
  };
}

/** The parts of a finished message; some servers send its text in their place. */
function contentOf(whole: JsonObject | undefined): JsonObject[] {
  const content = whole?.content;
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "output_text", text: content }];
  }
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function markMessage(item: JsonObject): ReturnType<typeof markOwn> {
  return markOwn({
    message: otherFields(item, ["type", "role", "content", "status"]) ?? {},
  });
}
