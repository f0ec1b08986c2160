import { wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
} from "@gateway/base/json";
import type {
  Citation,
  OpaqueBlock,
  ReasoningBlock,
  ReasoningPart,
} from "../../canonical/content/block.ts";
import { PARAGRAPH } from "../../canonical/answer/readable.ts";
import {
  isWrapped,
  type Sealed,
  unwrapSealed,
  wrapSealed,
} from "../../canonical/content/sealed.ts";
import type { Weight } from "../../canonical/content/extras.ts";
import { decodeCache } from "./cache.ts";
import { optionalText } from "./fields.ts";

/**
 * The `form` of a sealed signature, and below that of redacted thinking. The gateway puts sealed parts of other
 * protocols into an envelope, and sends this envelope as the signature.
 */
const SIGNATURE_FORM = "signature";
const REDACTED_FORM = "redacted";

/** Parses a `thinking` or `redacted_thinking` block from a caller. */
export function decodeThinking(block: JsonObject): ReasoningBlock {
  if (block.type === "redacted_thinking") {
    return {
      kind: "reasoning",
      parts: [],
      sealed: sealedOfRedacted(optionalText(block.data) ?? ""),
    };
  }
  const text = optionalText(block.thinking) ?? "";
  const signature = optionalText(block.signature) ?? "";
  const sealed = isWrapped(signature)
    ? unwrapSealed(signature)
    : sealedOfSignature(signature);
  // OpenAI accepts the text of its own reasoning only as a summary:
  // https://github.com/router-for-me/CLIProxyAPI/issues/5825
  const form = sealed?.protocol === "responses" && sealed.isRaw !== true
    ? "summary"
    : "raw";
  return {
    kind: "reasoning",
    parts: text === "" ? [] : [{ form, text }],
    sealed,
  };
}

/** Seals the signature of a provider. Returns `undefined` if the signature is empty or an empty envelope. */
export function sealedOfSignature(signature: string): Sealed | undefined {
  if (signature === "" || signature === wrapSealed()) return undefined;
  return { protocol: "messages", form: SIGNATURE_FORM, value: signature };
}

/** Seals the data of redacted thinking. Returns `undefined` when there is no data. */
export function sealedOfRedacted(data: string): Sealed | undefined {
  if (data === "") return undefined;
  return { protocol: "messages", form: REDACTED_FORM, value: data };
}

/** Returns true for redacted thinking, which has its own type of block. */
export function isRedacted(sealed: Sealed | undefined): boolean {
  return sealed?.protocol === "messages" && sealed.form === REDACTED_FORM;
}

/** Joins the readable parts of reasoning as paragraphs. */
export function thinkingText(parts: readonly ReasoningPart[]): string {
  return parts.map(({ text }) => text).filter((text) => text !== "")
    .join(PARAGRAPH);
}

/**
 * Returns the `signature` for a caller: the provider's own signature, or else an envelope. Some clients discard
 * thinking without a signature. With an envelope, these clients keep the thinking and send it back.
 *
 * @param origin The connection that issued the reasoning.
 * @param isRaw True when the text of the reasoning is not a summary.
 */
export function signatureForCaller(
  sealed: Sealed | undefined,
  origin: string,
  isRaw: boolean,
): string {
  if (sealed === undefined) return wrapSealed();
  const isOwn = sealed.protocol === "messages" &&
    sealed.form === SIGNATURE_FORM && !isWrapped(sealed.value);
  return isOwn
    ? sealed.value
    : wrapSealed({ ...sealed, origin, ...(isRaw ? { isRaw } : {}) });
}

/** Encodes sealed thinking for the provider that issued it. */
export function encodeSealedThinking(
  block: ReasoningBlock,
  sealed: Sealed,
): JsonObject {
  if (isRedacted(sealed)) {
    return { type: "redacted_thinking", data: sealed.value };
  }
  return {
    type: "thinking",
    thinking: thinkingText(block.parts),
    signature: sealed.value,
  };
}

/** The fields of server tools' results that a model can read. The other fields are encrypted, or concern the format. */
const READABLE_FIELDS = wordSet(`
  title url source text data content stdout stderr return_code error_code
  tool_name tool_references lines
`);

/**
 * The most characters of a block that another model receives as text. A fetched file must not fill that model's
 * context.
 */
const MAX_TEXT_LENGTH = 50_000;

/** The prefix of a system text that only Anthropic's API needs. */
const BILLING_PREFIX = "x-anthropic-billing-header:";

/**
 * Returns a block that no other protocol has.
 *
 * @param weight The weight of losing the block when it has no text.
 */
export function opaqueBlock(value: JsonObject, weight: Weight): OpaqueBlock {
  const type = optionalText(value.type) ?? "";
  return { kind: "opaque", protocol: "messages", type, value, weight };
}

/** Returns a block of an earlier answer that only Messages has. Other models receive it as text. */
export function historyBlock(value: JsonObject): OpaqueBlock {
  const block = opaqueBlock(value, "report");
  const text = textOf(value);
  return text === "" ? block : { ...block, text };
}

/** Returns search results that a caller gives to the model. Models of other protocols receive them as text. */
export function searchResultBlock(value: JsonObject): OpaqueBlock {
  return {
    ...opaqueBlock(value, "reject"),
    text: readable(value),
    ...cacheIn(value),
  };
}

/** Returns a reference to a tool whose definition is loaded. */
export function toolReferenceBlock(value: JsonObject): OpaqueBlock {
  const name = optionalText(value.tool_name);
  return { ...opaqueBlock(value, "report"), text: name, ...cacheIn(value) };
}

/** Returns the cache mark of a block, or of the last text in it. */
function cacheIn(value: JsonObject): Pick<OpaqueBlock, "cache"> {
  const cache = decodeCache(value) ??
    objectsOf(value.content).map(decodeCache).findLast((one) =>
      one !== undefined
    );
  return cache === undefined ? {} : { cache };
}

/** Returns true for a system block that only Anthropic's API needs. */
export function isBillingNote(block: JsonObject): boolean {
  return optionalText(block.text)?.startsWith(BILLING_PREFIX) ?? false;
}

function textOf(value: JsonObject): string {
  const type = optionalText(value.type) ?? "";
  if (type.endsWith("_tool_use")) {
    return `[called ${value.name} with ${JSON.stringify(value.input ?? {})}]`;
  }
  const text = readable(value.content).slice(0, MAX_TEXT_LENGTH);
  if (text === "") return "";
  return type === "compaction"
    ? `[summary of the earlier conversation]\n${text}`
    : `[${type}]\n${text}`;
}

/** Joins the readable texts in a value, one on each line. */
function readable(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) {
    return value.map(readable).filter((text) => text !== "").join("\n");
  }
  if (!isJsonObject(value) || value.type === "base64") return "";
  return Object.entries(value)
    .filter(([field]) => READABLE_FIELDS.has(field))
    .map(([field, inner]) =>
      typeof inner === "number" ? `${field}: ${inner}` : readable(inner)
    )
    .filter((text) => text !== "").join("\n");
}

const PAGE_TYPE = "web_search_result_location";

/** Parses a citation. A page is read field by field; a place in a document is kept unchanged. */
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
    // A citation with an empty index comes from `encodeCitation`, and no provider accepts it.
    raw: wire.encrypted_index === "" ? undefined : raw,
  };
}

/** Returns a citation for a caller, or `undefined` for a source that is not a page. */
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
