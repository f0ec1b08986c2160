import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { ReasoningForm } from "../../canonical/content/block.ts";
import type { BlockEmitter, ItemReader } from "./block_emitter.ts";
import { ownMetadata } from "../fields.ts";
import {
  decodeSealed,
  summaryForm,
  textsOf,
} from "../request/reasoning_item.ts";
import { EmittedText } from "./message_reader.ts";

/** The two lists of parts in a reasoning item. */
type List = "summary" | "content";

/** A part whose events are still arriving. */
interface Part {
  readonly list: List;
  /** The `summary_index` or `content_index` of the part. */
  readonly key: JsonValue | undefined;
  readonly emitted: EmittedText;
}

/**
 * Creates a reader for a reasoning item. The item's block begins with the first part or with the sealed data. An item
 * without both becomes no block.
 */
export function createReasoningReader(
  item: JsonObject,
  blocks: BlockEmitter,
): ItemReader {
  const parts: Part[] = [];
  let block: number | undefined;

  function open(): number {
    block ??= blocks.open({
      kind: "reasoning",
      providerMetadata: idMetadata(item),
    });
    return block;
  }

  function start(list: List, key: JsonValue | undefined): Part {
    const part = { list, key, emitted: new EmittedText() };
    parts.push(part);
    blocks.part(open(), formOf(list));
    return part;
  }

  function formOf(list: List): ReasoningForm {
    return list === "content" ? "raw" : summaryForm(item);
  }

  /**
   * Returns the part that a text extends. Only the last part can grow, so a text for an earlier part begins a new part.
   */
  function partOf(list: List, key: JsonValue | undefined): Part {
    const last = parts.at(-1);
    return last?.list === list && last.key === key ? last : start(list, key);
  }

  function emit(part: Part, text: JsonValue | undefined): void {
    if (typeof text !== "string") return;
    part.emitted.add(text);
    blocks.emitText(open(), text);
  }

  /** Emits what a finished list adds to the pieces of its parts. */
  function complete(list: List, whole: JsonValue | undefined): void {
    const known = parts.filter((part) => part.list === list);
    textsOf(whole).forEach((text, position) => {
      const part = known[position] ?? start(list, position);
      if (part === parts.at(-1)) emit(part, part.emitted.missingFrom(text));
    });
  }

  return {
    push(type, event) {
      switch (type) {
        case "response.reasoning_summary_text.delta":
          return emit(partOf("summary", event.summary_index), event.delta);
        case "response.reasoning_text.delta":
          return emit(partOf("content", event.content_index), event.delta);
        case "response.reasoning_summary_part.added":
          partOf("summary", event.summary_index);
          return;
        case "response.reasoning_part.added":
          partOf("content", event.content_index);
          return;
        case "response.content_part.added":
          if (isJsonObject(event.part)) partOf("content", event.content_index);
          return;
      }
    },
    finish(whole) {
      if (whole !== undefined) {
        complete("summary", whole.summary);
        complete("content", whole.content);
        const sealed = decodeSealed(whole);
        if (sealed !== undefined) blocks.seal(open(), sealed);
      }
      if (block !== undefined) blocks.close(block);
    },
  };
}

function idMetadata({ id }: JsonObject): ReturnType<typeof ownMetadata> {
  return ownMetadata(typeof id === "string" ? { id } : undefined);
}
