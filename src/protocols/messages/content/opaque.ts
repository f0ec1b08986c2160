import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { OpaqueBlock } from "../../canonical/answer/block.ts";
import type { Weight } from "../../canonical/request/extras.ts";
import { decodeCache } from "../request/cache.ts";
import { objectsIn, optionalText } from "../request/fields.ts";

/** The fields of server tools' results that a model can read; the rest is encrypted, or about the format. */
const READABLE_FIELDS: ReadonlySet<string> = new Set([
  "title",
  "url",
  "source",
  "text",
  "data",
  "content",
  "stdout",
  "stderr",
  "return_code",
  "error_code",
  "tool_name",
  "tool_references",
  "lines",
]);

/** Longest reading of one block in characters, so that a fetched file does not fill another model's window. */
const MAX_READING_LENGTH = 50_000;

/** What stands at the beginning of a system text that only Anthropic's own API wants. */
const BILLING_PREFIX = "x-anthropic-billing-header:";

/** A block that no other protocol has, with its weight where a reading does not make up for it. */
export function opaqueBlock(value: JsonObject, weight: Weight): OpaqueBlock {
  const type = optionalText(value.type) ?? "";
  return { kind: "opaque", protocol: "messages", type, value, weight };
}

/**
 * A block of a server tool, or another one that is only known here, in an earlier answer: models of other
 * protocols read in words what happened.
 */
export function historyBlock(value: JsonObject): OpaqueBlock {
  const block = opaqueBlock(value, "hint");
  const reading = readingOf(value);
  return reading === "" ? block : { ...block, text: reading };
}

/** Retrieved text that a caller gives to the model, which others read as text. */
export function searchResultBlock(value: JsonObject): OpaqueBlock {
  return {
    ...opaqueBlock(value, "answer"),
    text: readable(value),
    ...cacheIn(value),
  };
}

/** Names a tool whose definition is loaded. */
export function toolReferenceBlock(value: JsonObject): OpaqueBlock {
  const name = optionalText(value.tool_name);
  return { ...opaqueBlock(value, "hint"), text: name, ...cacheIn(value) };
}

/** The cache mark of a block, or of the last text in it. */
function cacheIn(value: JsonObject): Pick<OpaqueBlock, "cache"> {
  const cache = decodeCache(value) ??
    objectsIn(value.content).map(decodeCache).findLast((one) =>
      one !== undefined
    );
  return cache === undefined ? {} : { cache };
}

/** Whether a system block is addressed to Anthropic's API alone. */
export function isBillingNote(block: JsonObject): boolean {
  return optionalText(block.text)?.startsWith(BILLING_PREFIX) ?? false;
}

function readingOf(value: JsonObject): string {
  const type = optionalText(value.type) ?? "";
  if (type.endsWith("_tool_use")) {
    return `[called ${value.name} with ${JSON.stringify(value.input ?? {})}]`;
  }
  const text = readable(value.content).slice(0, MAX_READING_LENGTH);
  if (text === "") return "";
  return type === "compaction"
    ? `[summary of the earlier conversation]\n${text}`
    : `[${type}]\n${text}`;
}

/** The readable texts inside, a line each. */
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
