import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Citation } from "../../canonical/answer/citation.ts";

/** Reads the `annotations` of a text part. */
export function decodeAnnotations(value: JsonValue | undefined): Citation[] {
  return Array.isArray(value)
    ? value.filter(isJsonObject).map(decodeAnnotation)
    : [];
}

/** Reads one annotation; of all kinds only `url_citation` means something to other protocols. */
export function decodeAnnotation(annotation: JsonObject): Citation {
  const raw = { protocol: "responses", value: annotation } as const;
  const { type, url, title, start_index, end_index } = annotation;
  if (type !== "url_citation" || typeof url !== "string") return { raw };
  return {
    url,
    title: typeof title === "string" ? title : undefined,
    startIndex: typeof start_index === "number" ? start_index : undefined,
    endIndex: typeof end_index === "number" ? end_index : undefined,
    raw,
  };
}

/**
 * Writes a citation as an annotation, with every field that clients demand.
 *
 * @param text The text so far: what is cited where the source does not say.
 * @returns `undefined` when the protocol cannot show it.
 */
export function encodeAnnotation(
  citation: Citation,
  text: string,
): JsonObject | undefined {
  const { raw, url, title, startIndex, endIndex } = citation;
  if (raw?.protocol === "responses") return raw.value;
  if (url === undefined) return undefined;
  return {
    type: "url_citation",
    url,
    title: title ?? url,
    start_index: startIndex ?? 0,
    end_index: endIndex ?? text.length,
  };
}
