import type { JsonObject } from "@gateway/base/json";
import type { ReasoningForm } from "../../canonical/content/block.ts";
import type { BlockHead } from "../../canonical/stream/event.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import {
  idleWriter,
  type ItemWriter,
  placeText,
  type WriterScope,
} from "./item_writer.ts";
import { metadataId } from "../fields.ts";
import { encodeSealed } from "../request/reasoning_item.ts";

/**
 * Creates a writer for a reasoning item. Even raw reasoning is written as a summary, because clients show and repeat
 * only summaries. An envelope in `encrypted_content` marks raw reasoning. An item begins with its first part or sealed
 * content, so empty reasoning writes nothing.
 */
export function createReasoningWriter(
  head: BlockHead,
  { events, context, outputIndex }: WriterScope,
): ItemWriter {
  const id = metadataId(head) ?? context.ids.next("rs");
  const summary: { readonly type: string; readonly text: string }[] = [];
  let text = "";
  let place: JsonObject | undefined;
  let deltaPlace = "";
  let hasBegun = false;
  let sealed: Sealed | undefined;
  let isRaw = false;

  function begin(): void {
    if (hasBegun) return;
    hasBegun = true;
    events.write("response.output_item.added", {
      output_index: outputIndex,
      item: { id, type: "reasoning", summary: [], ...envelope() },
    });
  }

  function envelope(): JsonObject {
    if (sealed === undefined && !isRaw) return {};
    const { connectionId } = context;
    return { encrypted_content: encodeSealed(sealed, connectionId, summary) };
  }

  function finishPart(): void {
    if (place === undefined) return;
    const part = { type: "summary_text", text };
    events.write("response.reasoning_summary_text.done", { ...place, text });
    events.write("response.reasoning_summary_part.done", { ...place, part });
    summary.push(part);
    place = undefined;
    text = "";
  }

  return {
    ...idleWriter,
    part(form: ReasoningForm) {
      finishPart();
      isRaw ||= form === "raw";
      begin();
      place = {
        item_id: id,
        output_index: outputIndex,
        summary_index: summary.length,
      };
      deltaPlace = placeText(place);
      events.write("response.reasoning_summary_part.added", {
        ...place,
        part: { type: "summary_text", text: "" },
      });
    },
    delta(more) {
      text += more;
      events.writeDelta(
        "response.reasoning_summary_text.delta",
        deltaPlace,
        more,
      );
    },
    seal(one) {
      sealed = one;
      begin();
    },
    endBlock: finishPart,
    close() {
      if (!hasBegun) return undefined;
      const item = { id, type: "reasoning", summary, ...envelope() };
      events.write("response.output_item.done", {
        output_index: outputIndex,
        item,
      });
      return item;
    },
  };
}
