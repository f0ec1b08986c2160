import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import {
  isWrapped,
  type Sealed,
  unwrapSealed,
  wrapSealed,
} from "../../canonical/answer/sealed.ts";

/**
 * OpenRouter's `reasoning_details`: a list of readable, summarised and encrypted pieces of reasoning, which
 * some models want back unchanged. The gateway offers sealed parts of other protocols in the same place, in an
 * envelope, for clients that repeat an assistant message as they got it.
 */

/** The `form` of a sealed list; its value is the JSON text of the list. */
const SEALED_FORM = "reasoning_details";

/** The readable text of a list. */
export function textOfDetails(details: readonly JsonValue[]): string {
  let text = "";
  for (const entry of details) {
    if (isJsonObject(entry)) text += readable(entry);
  }
  return text;
}

function readable(entry: JsonObject): string {
  if (typeof entry.text === "string") return entry.text;
  return typeof entry.summary === "string" ? entry.summary : "";
}

/** What of a list must go back to its issuer; `undefined` when it is all readable. */
export function sealedOfDetails(
  details: readonly JsonValue[],
): Sealed | undefined {
  for (const entry of details) {
    if (
      isJsonObject(entry) && typeof entry.data === "string" &&
      isWrapped(entry.data)
    ) {
      return unwrapSealed(entry.data);
    }
  }
  if (!details.some(isSealing)) return undefined;
  return {
    protocol: "chat",
    form: SEALED_FORM,
    value: JSON.stringify(details),
  };
}

function isSealing(entry: JsonValue): boolean {
  return isJsonObject(entry) &&
    (hasText(entry.data) || hasText(entry.signature));
}

function hasText(value: JsonValue | undefined): boolean {
  return typeof value === "string" && value !== "";
}

/** The list for an upstream that issued it; empty for another form. */
export function detailsOfSealed(sealed: Sealed): JsonValue[] {
  const details = sealed.form === SEALED_FORM
    ? parseJson(sealed.value)
    : undefined;
  return Array.isArray(details) ? details : [];
}

/**
 * The list for a caller: the provider's own, or an envelope.
 *
 * @param origin The connection that issued it.
 */
export function detailsForCaller(sealed: Sealed, origin: string): JsonValue[] {
  if (sealed.protocol === "chat" && sealed.form === SEALED_FORM) {
    return detailsOfSealed(sealed);
  }
  return [{
    type: "reasoning.encrypted",
    data: wrapSealed({ ...sealed, origin }),
    index: 0,
  }];
}

/** Gathers the lists of a stream's chunks, whose entries come in pieces. */
export interface DetailsGatherer {
  /** Takes the list of one chunk. */
  push(details: readonly JsonValue[]): void;
  /** What must go back to its issuer of all that came since the last call. */
  take(): Sealed | undefined;
  /** Characters held. */
  held(): number;
}

/** A gatherer for one stream. */
export function createDetailsGatherer(): DetailsGatherer {
  let entries: JsonObject[] = [];
  let held = 0;
  return {
    push(details) {
      for (const entry of details) {
        if (!isJsonObject(entry)) continue;
        held += JSON.stringify(entry).length;
        const last = entries.at(-1);
        if (last !== undefined && isSamePiece(last, entry)) {
          entries[entries.length - 1] = merge(last, entry);
        } else entries.push(entry);
      }
    },
    take() {
      const sealed = sealedOfDetails(entries);
      entries = [];
      held = 0;
      return sealed;
    },
    held: () => held,
  };
}

function isSamePiece(one: JsonObject, other: JsonObject): boolean {
  return one.type === other.type && one.index === other.index &&
    (one.id ?? other.id) === (other.id ?? one.id) &&
    one.type !== "reasoning.encrypted";
}

/** Text grows; what else a later piece has replaces. */
function merge(one: JsonObject, other: JsonObject): JsonObject {
  const merged: JsonObject = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const before = one[key];
    const grows = (key === "text" || key === "summary") &&
      typeof before === "string" && typeof value === "string";
    if (grows) merged[key] = before + value;
    else if (value !== null && value !== undefined) merged[key] = value;
  }
  return merged;
}
