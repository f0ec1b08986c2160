import type { JsonObject } from "../../../core/json.ts";
import type { Citation } from "../../canonical/answer/citation.ts";
import type { TokenLogprob } from "../../canonical/answer/logprobs.ts";
import { encodeAnnotation } from "../items/annotation.ts";
import { placeText, type WriterScope } from "./item_writer.ts";

/** Writes one content part of a message, and keeps it to tell it whole. */
export interface PartWriter {
  delta(text: string, logprobs?: readonly TokenLogprob[]): void;
  cite(citation: Citation): void;
  /** Tells the part whole and gives it. */
  finish(): JsonObject;
}

/**
 * A writer for a part that begins now.
 *
 * @param place The fields by which events name it.
 */
export function createPartWriter(
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
  /** What backs the whole part, wherever that ends. */
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
