import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { BlockHead } from "../canonical/event.ts";
import { encodeAnnotation } from "./annotation.ts";
import {
  idleWriter,
  type ItemWriter,
  placeText,
  type WriterScope,
} from "./item_writer.ts";
import { ownMarks, textOf } from "./marks.ts";

/** A content part while it is written. */
interface Part {
  readonly isRefusal: boolean;
  /** Where it stands, for events. */
  readonly place: JsonObject;
  readonly deltaPlace: string;
  text: string;
  readonly annotations: JsonObject[];
}

/** Whether a block says that a message of its own begins with it. */
export function isMessageStart(head: BlockHead): boolean {
  return ownMarks(head).message !== undefined;
}

/** Writes a message; text and refusals that follow each other are its parts. */
export function createMessageWriter(
  head: BlockHead,
  { teller, context, outputIndex }: WriterScope,
): ItemWriter {
  const { message } = ownMarks(head);
  const facts = isJsonObject(message) ? message : {};
  const item = {
    ...facts,
    id: textOf(facts.id) ?? context.ids.next("msg"),
    type: "message",
    role: "assistant",
  };
  const content: JsonObject[] = [];
  let part: Part | undefined;

  teller.tell("response.output_item.added", {
    output_index: outputIndex,
    item: { ...item, status: "in_progress", content: [] },
  });
  begin(head.kind === "refusal");

  function begin(isRefusal: boolean): void {
    const place = {
      item_id: item.id,
      output_index: outputIndex,
      content_index: content.length,
    };
    part = {
      isRefusal,
      place,
      deltaPlace: placeText(isRefusal ? place : { ...place, logprobs: [] }),
      text: "",
      annotations: [],
    };
    teller.tell("response.content_part.added", {
      ...place,
      part: wholePart(part),
    });
  }

  function finish({ isRefusal, place, text }: Part): void {
    if (isRefusal) {
      teller.tell("response.refusal.done", { ...place, refusal: text });
    } else {
      teller.tell("response.output_text.done", {
        ...place,
        text,
        logprobs: [],
      });
    }
  }

  return {
    ...idleWriter,
    join(kind, startsMessage) {
      if (startsMessage || kind !== "text" && kind !== "refusal") return false;
      begin(kind === "refusal");
      return true;
    },
    delta(text) {
      if (part === undefined) return;
      part.text += text;
      teller.tellDelta(
        part.isRefusal
          ? "response.refusal.delta"
          : "response.output_text.delta",
        part.deltaPlace,
        text,
      );
    },
    cite(citation) {
      if (part === undefined) return;
      const annotation = encodeAnnotation(citation, part.text);
      if (annotation === undefined) return context.drop("citation");
      part.annotations.push(annotation);
      teller.tell("response.output_text.annotation.added", {
        ...part.place,
        annotation_index: part.annotations.length - 1,
        annotation,
      });
    },
    endBlock() {
      if (part === undefined) return;
      const whole = wholePart(part);
      finish(part);
      teller.tell("response.content_part.done", { ...part.place, part: whole });
      content.push(whole);
      part = undefined;
    },
    close(status) {
      const whole = { ...item, status, content };
      teller.tell("response.output_item.done", {
        output_index: outputIndex,
        item: whole,
      });
      return whole;
    },
  };
}

function wholePart({ isRefusal, text, annotations }: Part): JsonObject {
  return isRefusal ? { type: "refusal", refusal: text } : {
    type: "output_text",
    text,
    annotations: [...annotations],
    logprobs: [],
  };
}
