import type { JsonObject } from "../../core/json.ts";
import type { Citation } from "../canonical/citation.ts";
import { encodeAnnotation } from "./annotation.ts";
import { placeText, type WriterScope } from "./item_writer.ts";

/** Writes one content part of a message, and keeps it to tell it whole. */
export interface PartWriter {
  delta(text: string): void;
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
  { teller, context }: WriterScope,
): PartWriter {
  const isRefusal = kind === "refusal";
  const event = isRefusal ? "response.refusal" : "response.output_text";
  const deltaEvent = `${event}.delta`;
  const logprobs = isRefusal ? {} : { logprobs: [] };
  const deltaPlace = placeText({ ...place, ...logprobs });
  const annotations: JsonObject[] = [];
  let text = "";

  function whole(): JsonObject {
    return isRefusal ? { type: "refusal", refusal: text } : {
      type: "output_text",
      text,
      annotations: [...annotations],
      logprobs: [],
    };
  }

  teller.tell("response.content_part.added", { ...place, part: whole() });
  return {
    delta(more) {
      text += more;
      teller.tellDelta(deltaEvent, deltaPlace, more);
    },
    cite(citation) {
      const annotation = encodeAnnotation(citation, text);
      if (annotation === undefined) return context.drop("citation");
      const annotation_index = annotations.push(annotation) - 1;
      teller.tell("response.output_text.annotation.added", {
        ...place,
        annotation_index,
        annotation,
      });
    },
    finish() {
      const part = whole();
      const said = isRefusal ? { refusal: text } : { text, ...logprobs };
      teller.tell(`${event}.done`, { ...place, ...said });
      teller.tell("response.content_part.done", { ...place, part });
      return part;
    },
  };
}
