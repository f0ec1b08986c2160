import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { lookup } from "../../core/lookup.ts";
import { decodeAnnotation, decodeAnnotations } from "./annotation.ts";
import type { BlockWriter } from "./block_writer.ts";
import type { ItemReader } from "./item_reader.ts";
import { markOwn, restOf, textOf } from "./marks.ts";
import { opaquePart } from "./part_decode.ts";

/** A content part while its events come in. */
interface Part {
  /** Its `content_index`. */
  readonly key: JsonValue | undefined;
  readonly kind: "text" | "refusal";
  readonly block: number;
  /** Characters given so far. */
  sent: number;
  /** Citations given so far. */
  cited: number;
  isOpen: boolean;
}

const KIND_BY_TYPE: Readonly<Record<string, Part["kind"]>> = {
  output_text: "text",
  text: "text",
  refusal: "refusal",
};

/** Reads a message: each of its parts is a block. */
export function createMessageReader(
  item: JsonObject,
  writer: BlockWriter,
): ItemReader {
  const parts: Part[] = [];

  function open(kind: Part["kind"], key: JsonValue | undefined): Part {
    const marks = parts.length === 0 ? markMessage(item) : undefined;
    const block = writer.open({ kind, marks });
    const part = { key, kind, block, sent: 0, cited: 0, isOpen: true };
    parts.push(part);
    return part;
  }

  /** The part that an event is about, if its beginning was told. */
  function knownPart({ content_index }: JsonObject): Part | undefined {
    return parts.findLast(({ key }) => key === content_index);
  }

  /** The open part that an event adds to; begun now where its beginning was not told. */
  function partOf(kind: Part["kind"], event: JsonObject): Part {
    const part = knownPart(event);
    return part?.kind === kind && part.isOpen
      ? part
      : open(kind, event.content_index);
  }

  function begin({ part, content_index }: JsonObject): void {
    const kind = isJsonObject(part) ? kindOf(part) : undefined;
    if (kind !== undefined) open(kind, content_index);
  }

  function say(part: Part, delta: JsonValue | undefined): void {
    if (typeof delta !== "string") return;
    part.sent += delta.length;
    writer.say(part.block, delta);
  }

  /** Gives what of the whole text has not come in pieces; a part that is closed has it all. */
  function complete(part: Part, whole: JsonValue | undefined): void {
    if (part.isOpen && typeof whole === "string") {
      say(part, whole.slice(part.sent));
    }
  }

  /** Gives what of a whole part has not come in pieces, and closes it. */
  function finishPart(part: Part, whole: JsonObject): void {
    if (!part.isOpen) return;
    complete(part, part.kind === "refusal" ? whole.refusal : whole.text);
    const citations = decodeAnnotations(whole.annotations).slice(part.cited);
    part.cited += citations.length;
    for (const citation of citations) writer.cite(part.block, citation);
    close(part);
  }

  function close(part: Part): void {
    if (part.isOpen) writer.close(part.block);
    part.isOpen = false;
  }

  return {
    take(type, event) {
      switch (type) {
        case "response.output_text.delta":
          return say(partOf("text", event), event.delta);
        case "response.refusal.delta":
          return say(partOf("refusal", event), event.delta);
        case "response.content_part.added":
          return begin(event);
        case "response.output_text.done":
          return complete(
            knownPart(event) ?? partOf("text", event),
            event.text,
          );
        case "response.refusal.done":
          return complete(
            knownPart(event) ?? partOf("refusal", event),
            event.refusal,
          );
        case "response.content_part.done": {
          const part = knownPart(event);
          if (part === undefined || !isJsonObject(event.part)) return;
          return finishPart(part, event.part);
        }
        case "response.output_text.annotation.added": {
          if (!isJsonObject(event.annotation)) return;
          const part = partOf("text", event);
          part.cited++;
          return writer.cite(part.block, decodeAnnotation(event.annotation));
        }
      }
    },
    finish(whole) {
      const content = Array.isArray(whole?.content)
        ? whole.content.filter(isJsonObject)
        : [];
      let position = 0;
      for (const one of content) {
        const kind = kindOf(one);
        if (kind === undefined) {
          writer.giveOpaque(opaquePart(one));
          continue;
        }
        finishPart(parts[position] ?? open(kind, position), one);
        position++;
      }
      parts.forEach(close);
    },
  };
}

/** `undefined` for a part of a kind unknown here. */
function kindOf({ type }: JsonObject): Part["kind"] | undefined {
  return lookup(KIND_BY_TYPE, textOf(type) ?? "");
}

function markMessage(item: JsonObject): ReturnType<typeof markOwn> {
  return markOwn({
    message: restOf(item, ["type", "role", "content", "status"]) ?? {},
  });
}
