import { type JsonObject, present } from "@gateway/base/json";
import type { Citation, TokenLogprob } from "../../canonical/content/block.ts";
import type { BlockHead } from "../../canonical/stream/event.ts";
import { metadataObject, textOf } from "../fields.ts";
import { encodeAnnotation } from "../request/part_decode.ts";
import {
  idleWriter,
  type ItemWriter,
  placeText,
  type WriterScope,
} from "./item_writer.ts";

/** Returns true when a new message begins with the block. */
export function isMessageStart(head: BlockHead): boolean {
  return metadataObject(head, "message") !== undefined ||
    "message" in head && head.message !== undefined;
}

/** Creates a writer for a message. Consecutive texts and refusals become parts of one message. */
export function createMessageWriter(
  head: BlockHead,
  scope: WriterScope,
): ItemWriter {
  const { events, outputIndex: output_index } = scope;
  const item = startOf(head, scope);
  const content: JsonObject[] = [];
  let part: PartWriter | undefined;

  function begin(kind: "text" | "refusal"): void {
    const place = {
      item_id: item.id,
      output_index,
      content_index: content.length,
    };
    part = createPartWriter(kind, place, scope);
  }

  events.write("response.output_item.added", {
    output_index,
    item: { ...item, status: "in_progress", content: [] },
  });
  begin(head.kind === "refusal" ? "refusal" : "text");
  return {
    ...idleWriter,
    join(kind, startsMessage) {
      if (startsMessage || kind !== "text" && kind !== "refusal") return false;
      begin(kind);
      return true;
    },
    delta: (text, logprobs) => part?.delta(text, logprobs),
    cite: (citation) => part?.cite(citation),
    endBlock() {
      if (part !== undefined) content.push(part.finish());
      part = undefined;
    },
    close(status) {
      const whole = { ...item, status, content };
      events.write("response.output_item.done", { output_index, item: whole });
      return whole;
    },
  };
}

/** Returns the fields of the item that are known when the item begins. */
function startOf(head: BlockHead, { context }: WriterScope): JsonObject {
  const facts = metadataObject(head, "message");
  const phase = "message" in head ? head.message?.phase : undefined;
  return {
    ...present({ phase }),
    ...facts,
    id: textOf(facts?.id) ?? context.ids.next("msg"),
    type: "message",
    role: "assistant",
  };
}

/** Writes one content part of a message step by step. Collects the part to write all of it at the end. */
interface PartWriter {
  delta(text: string, logprobs?: readonly TokenLogprob[]): void;
  cite(citation: Citation): void;
  /** Writes the complete part and returns it. */
  finish(): JsonObject;
}

/** Creates a writer for a part that begins now. Events identify the part by the fields in `place`. */
function createPartWriter(
  kind: "text" | "refusal",
  place: JsonObject,
  { events, context }: WriterScope,
): PartWriter {
  const isRefusal = kind === "refusal";
  const event = isRefusal ? "response.refusal" : "response.output_text";
  const deltaEvent = `${event}.delta`;
  const deltaPlace = placeText({
    ...place,
    ...(isRefusal ? {} : { logprobs: [] }),
  });
  const logprobs: JsonObject[] = [];
  const annotations: JsonObject[] = [];
  /** The citations without an end. They are written when the part ends, because they reach to the end of the part. */
  const openEnded: Citation[] = [];
  let text = "";

  function annotate(citation: Citation): void {
    const annotation = encodeAnnotation(citation, text);
    if (annotation === undefined) return context.drop("citation");
    const annotation_index = annotations.push(annotation) - 1;
    events.write("response.output_text.annotation.added", {
      ...place,
      annotation_index,
      annotation,
    });
  }

  function whole(): JsonObject {
    return isRefusal ? { type: "refusal", refusal: text } : {
      type: "output_text",
      text,
      annotations: [...annotations],
      logprobs: [...logprobs],
    };
  }

  events.write("response.content_part.added", { ...place, part: whole() });
  return {
    delta(more, tokens = []) {
      text += more;
      if (tokens.length === 0) {
        return events.writeDelta(deltaEvent, deltaPlace, more);
      }
      const entries = tokens.map((token) => ({
        ...token,
        top_logprobs: [...token.top_logprobs],
      }));
      logprobs.push(...entries);
      events.write(deltaEvent, { ...place, delta: more, logprobs: entries });
    },
    cite(citation) {
      const { raw, endIndex } = citation;
      const hasPlace = endIndex !== undefined || raw?.protocol === "responses";
      if (hasPlace) annotate(citation);
      else openEnded.push(citation);
    },
    finish() {
      openEnded.forEach(annotate);
      const part = whole();
      const content = isRefusal ? { refusal: text } : { text, logprobs };
      events.write(`${event}.done`, { ...place, ...content });
      events.write("response.content_part.done", { ...place, part });
      return part;
    },
  };
}
