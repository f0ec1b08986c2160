import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  nonEmptyText,
} from "@gateway/base/json";
import type { Citation } from "../../canonical/content/block.ts";

/** Parses an annotation. A URL citation is read field by field; other kinds are kept unchanged. */
export function decodeCitation(annotation: JsonObject): Citation {
  const raw = { protocol: "chat", value: annotation } as const;
  const page = isJsonObject(annotation.url_citation)
    ? annotation.url_citation
    : undefined;
  if (page === undefined) return { raw };
  return {
    url: nonEmptyText(page.url),
    title: nonEmptyText(page.title),
    quote: nonEmptyText(page.content),
    startIndex: offset(page.start_index),
    endIndex: offset(page.end_index),
    raw,
  };
}

/**
 * Returns the pages that Perplexity lists beside an answer. They come from `search_results`, which has titles, or from
 * `citations`, which has only addresses (https://docs.getbifrost.ai/providers/supported-providers/perplexity).
 */
export function pagesOf(
  { citations, search_results: results }: JsonObject,
): readonly Citation[] {
  const pages = listOf(results).filter(isJsonObject).map((page) => ({
    url: nonEmptyText(page.url),
    title: nonEmptyText(page.title),
  }));
  const known = pages.filter(({ url }) => url !== undefined);
  if (known.length > 0) return known;
  return listOf(citations).map(nonEmptyText).filter((url) => url !== undefined)
    .map((url) => ({ url }));
}

/** The place of a block of text in a message's content, in UTF-16 code units. */
export interface TextRange {
  readonly start: number;
  /** The index after the last code unit of the block. */
  readonly end: number;
}

/**
 * Returns the annotation for a citation, or `undefined` if the source is not a page. The annotation's offsets count
 * from the beginning of the message. If the citation has no offsets, the annotation covers the whole block.
 */
export function encodeCitation(
  citation: Citation,
  place: TextRange,
): JsonObject | undefined {
  const { raw, url, title, startIndex, endIndex } = citation;
  if (raw?.protocol === "chat") return raw.value;
  if (url === undefined) return undefined;
  return {
    type: "url_citation",
    url_citation: {
      url,
      title: title ?? "",
      start_index: place.start + (startIndex ?? 0),
      end_index: endIndex === undefined ? place.end : place.start + endIndex,
    },
  };
}

function offset(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
