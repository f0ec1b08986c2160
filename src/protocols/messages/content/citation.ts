import type { JsonObject } from "../../../core/json.ts";
import type { Citation } from "../../canonical/answer/citation.ts";
import { optionalText } from "../request/fields.ts";

const PAGE_TYPE = "web_search_result_location";

/** Reads a citation; a page is understood, a place in a document is kept as it is. */
export function decodeCitation(wire: JsonObject): Citation {
  const raw = { protocol: "messages", value: wire } as const;
  const quote = optionalText(wire.cited_text);
  if (wire.type !== PAGE_TYPE) {
    return { title: optionalText(wire.document_title), quote, raw };
  }
  return {
    url: optionalText(wire.url),
    title: optionalText(wire.title),
    quote,
    // Without its index it is one that `encodeCitation` made, which no upstream takes back.
    raw: wire.encrypted_index === "" ? undefined : raw,
  };
}

/** Writes a citation to a caller; `undefined` for a source that is no page. */
export function encodeCitation(citation: Citation): JsonObject | undefined {
  const { raw, url, title, quote } = citation;
  if (raw?.protocol === "messages") return raw.value;
  if (url === undefined) return undefined;
  return {
    type: PAGE_TYPE,
    url,
    title: title ?? null,
    cited_text: quote ?? "",
    encrypted_index: "",
  };
}
