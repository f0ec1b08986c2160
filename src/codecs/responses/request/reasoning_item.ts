import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "@gateway/base/json";
import type {
  ReasoningBlock,
  ReasoningPart,
} from "../../canonical/content/block.ts";
import {
  isWrapped,
  type Sealed,
  textDigest,
  unwrapSealed,
  wrapSealed,
} from "../../canonical/content/sealed.ts";
import { metadataObject, otherFields, ownMetadata } from "../fields.ts";

/** The `form` of a sealed `encrypted_content`. */
const SEALED_FORM = "encrypted_content";

const ITEM_FIELDS = ["type", "summary", "content", "encrypted_content"];

/** Parses a reasoning item of the history. Its sealed data may be in an envelope from {@linkcode encodeSealed}. */
export function decodeReasoning(item: JsonObject): ReasoningBlock {
  const rest = otherFields(item, ITEM_FIELDS);
  return {
    kind: "reasoning",
    parts: decodeParts(item),
    sealed: decodeReturned(item),
    providerMetadata: ownMetadata(
      rest === undefined ? undefined : { item: rest },
    ),
  };
}

/** Parses the data that a provider sealed. Returns `undefined` if there is no sealed data or its envelope is empty. */
export function decodeSealed(item: JsonObject): Sealed | undefined {
  const { encrypted_content: value, id } = item;
  if (typeof value !== "string" || value === "" || value === wrapSealed()) {
    return undefined;
  }
  return {
    protocol: "responses",
    form: SEALED_FORM,
    value,
    id: typeof id === "string" ? id : undefined,
  };
}

function decodeReturned(item: JsonObject): Sealed | undefined {
  const { encrypted_content: value } = item;
  if (typeof value !== "string" || !isWrapped(value)) return decodeSealed(item);
  const sealed = unwrapSealed(value);
  return sealed?.text === undefined ||
      sealed.text === textDigest(decodeParts(item))
    ? sealed
    : { ...sealed, isAltered: true };
}

/** Returns the readable parts of a reasoning item, with the summary first. */
function decodeParts(item: JsonObject): ReasoningPart[] {
  const form = summaryForm(item);
  return [
    ...textsOf(item.summary).map((text) => ({ form, text })),
    ...textsOf(item.content).map((text) => ({ form: "raw", text } as const)),
  ];
}

/**
 * Returns the form of the reasoning in the `summary` of an item. Clients show and repeat only summaries, so the gateway
 * sends raw reasoning as a summary. The item of such reasoning has an envelope.
 */
export function summaryForm(item: JsonObject): ReasoningPart["form"] {
  const { encrypted_content: value } = item;
  return typeof value === "string" && isWrapped(value) ? "raw" : "summary";
}

/** Returns the texts of `summary_text` and `reasoning_text` parts. */
export function textsOf(parts: JsonValue | undefined): string[] {
  return (Array.isArray(parts) ? parts : []).map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  );
}

/** Returns reasoning as an item for the provider that issued it. */
export function reasoningItem(block: ReasoningBlock): JsonObject {
  const { sealed } = block;
  const rest = metadataObject(block, "item");
  const content = partsOf(block, "raw", "reasoning_text");
  return {
    type: "reasoning",
    ...rest,
    ...present({ id: sealed?.id ?? rest?.id }),
    summary: partsOf(block, "summary", "summary_text"),
    ...(content.length === 0 ? {} : { content }),
    ...(sealed === undefined ? {} : { encrypted_content: sealed.value }),
  };
}

function partsOf(
  { parts }: ReasoningBlock,
  form: ReasoningPart["form"],
  type: string,
): JsonObject[] {
  return parts.filter((part) => part.form === form)
    .map(({ text }) => ({ type, text }));
}

/**
 * Returns sealed data for a caller. Data of this protocol is returned unchanged. Data of another protocol is put into
 * an envelope.
 *
 * @param origin The connection that issued the data.
 * @param parts The readable parts, which the caller must return unchanged.
 */
export function encodeSealed(
  sealed: Sealed | undefined,
  origin: string,
  parts: readonly { readonly text: string }[],
): string {
  if (sealed === undefined) return wrapSealed();
  return sealed.protocol === "responses" && sealed.form === SEALED_FORM
    ? sealed.value
    : wrapSealed({ ...sealed, origin, text: textDigest(parts) });
}

/** Returns true if sealed data has the form that {@linkcode reasoningItem} writes. */
export function isEncryptedContent(sealed: Sealed): boolean {
  return sealed.form === SEALED_FORM;
}
