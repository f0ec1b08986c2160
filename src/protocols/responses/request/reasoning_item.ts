import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "../../../core/json.ts";
import type {
  ReasoningBlock,
  ReasoningPart,
} from "../../canonical/content/block.ts";
import {
  isWrapped,
  type Sealed,
  unwrapSealed,
  wrapSealed,
} from "../../canonical/content/sealed.ts";
import { markOwn, notedObject, otherFields } from "../fields.ts";

/** The `form` of a sealed `encrypted_content`. */
const SEALED_FORM = "encrypted_content";

const ITEM_FIELDS = ["type", "summary", "content", "encrypted_content"];

/**
 * Reads a reasoning item of a caller's history. What an answer of another protocol had sealed comes back in
 * the envelope in which {@linkcode encodeSealed} gave it out.
 */
export function decodeReasoning(item: JsonObject): ReasoningBlock {
  const rest = otherFields(item, ITEM_FIELDS);
  return {
    kind: "reasoning",
    parts: decodeParts(item),
    sealed: decodeReturned(item),
    providerMetadata: markOwn(rest === undefined ? undefined : { item: rest }),
  };
}

/** Reads what an upstream sealed; an envelope without content means that nothing is. */
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
  return typeof value === "string" && isWrapped(value)
    ? unwrapSealed(value)
    : decodeSealed(item);
}

/** The readable parts of a reasoning item: its summary first. */
function decodeParts(item: JsonObject): ReasoningPart[] {
  const form = summaryForm(item);
  return [
    ...textsOf(item.summary).map((text) => ({ form, text })),
    ...textsOf(item.content).map((text) => ({ form: "raw", text } as const)),
  ];
}

/**
 * What the summary of an item is. Clients show and repeat summaries only, so the thoughts themselves are
 * given to them as one, in an item that holds an envelope.
 */
export function summaryForm(item: JsonObject): ReasoningPart["form"] {
  const { encrypted_content: value } = item;
  return typeof value === "string" && isWrapped(value) ? "raw" : "summary";
}

/** The texts of `summary_text` and `reasoning_text` parts. */
export function textsOf(parts: JsonValue | undefined): string[] {
  return (Array.isArray(parts) ? parts : []).map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  );
}

/** Writes a reasoning item for the upstream that issued it. */
export function reasoningItem(block: ReasoningBlock): JsonObject {
  const { sealed } = block;
  const rest = notedObject(block, "item");
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
 * Writes what is sealed for a caller: the protocol's own as it is, anything else in an envelope.
 *
 * @param origin The connection that issued it.
 */
export function encodeSealed(
  sealed: Sealed | undefined,
  origin: string,
): string {
  if (sealed === undefined) return wrapSealed();
  return sealed.protocol === "responses" && sealed.form === SEALED_FORM
    ? sealed.value
    : wrapSealed({ ...sealed, origin });
}

/** Whether a sealed part is of the form that {@linkcode reasoningItem} writes. */
export function isEncryptedContent(sealed: Sealed): boolean {
  return sealed.form === SEALED_FORM;
}
