import { type JsonObject, present } from "../../../core/json.ts";
import type { BlockHead } from "../../canonical/stream/event.ts";
import {
  idleWriter,
  type ItemWriter,
  type WriterScope,
} from "./item_writer.ts";
import { textOf } from "../fields.ts";
import { notedObject } from "../marks.ts";
import { createPartWriter, type PartWriter } from "./part_writer.ts";

/** Whether a block says that a message of its own begins with it. */
export function isMessageStart(head: BlockHead): boolean {
  return notedObject(head, "message") !== undefined ||
    "message" in head && head.message !== undefined;
}

/** Writes a message; text and refusals that follow each other are its parts. */
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

/** What of the item is known when it begins. */
function startOf(head: BlockHead, { context }: WriterScope): JsonObject {
  const facts = notedObject(head, "message");
  const phase = "message" in head ? head.message?.phase : undefined;
  return {
    ...present({ phase }),
    ...facts,
    id: textOf(facts?.id) ?? context.ids.next("msg"),
    type: "message",
    role: "assistant",
  };
}
