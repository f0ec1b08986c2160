import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { ReasoningBlock } from "../../canonical/content/block.ts";
import {
  isWrapped,
  type Sealed,
  type ShownReasoning,
  unwrapSealed,
  unwrapShown,
  wrapSealed,
} from "../../canonical/content/sealed.ts";

/**
 * OpenRouter's `reasoning_details` is a list of readable, summarised and encrypted pieces of reasoning. Some models
 * need the list back unchanged. The gateway puts the sealed parts of other protocols into this list, each in an
 * envelope, because many clients repeat an assistant message unchanged. The envelope also holds the signed text,
 * because openai-node's `.stream()` keeps only the last fragment of `reasoning_content`.
 */

/** The `form` of sealed data whose `value` is the JSON text of `reasoning_details`. */
const SEALED_FORM = "reasoning_details";

/** Returns the readable text of a list. */
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

/** Returns true when a list holds envelopes. */
export function hasEnvelopes(details: readonly JsonValue[]): boolean {
  return envelopesIn(details).length > 0;
}

/**
 * Returns the original reasoning that the envelopes of a list hold. Returns an empty list if an envelope is missing,
 * because providers reject incomplete reasoning.
 */
export function reasoningInEnvelopes(
  details: readonly JsonValue[],
): ReasoningBlock[] {
  const found = envelopesIn(details).map((envelope) => ({
    sealed: unwrapSealed(envelope),
    shown: unwrapShown(envelope),
  }));
  return found.every(({ shown }, index) => shown?.position === index)
    ? found.map(({ sealed, shown }) => ({
      kind: "reasoning",
      parts: shown?.parts ?? [],
      sealed,
    }))
    : [];
}

function envelopesIn(details: readonly JsonValue[]): string[] {
  return details.flatMap((entry) =>
    isJsonObject(entry) && typeof entry.data === "string" &&
      isWrapped(entry.data)
      ? [entry.data]
      : []
  );
}

/**
 * Seals a list without envelopes, because the provider that issued the list needs it back. Returns `undefined` if the
 * list is only text.
 */
export function sealedOfDetails(
  details: readonly JsonValue[],
): Sealed | undefined {
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

/** Parses thinking blocks in the form of Messages. Clients of LiteLLM send such blocks in Chat Completions. */
export function decodeThinkingBlocks(
  blocks: readonly JsonValue[],
): ReasoningBlock[] {
  return blocks.filter(isJsonObject).flatMap((block): ReasoningBlock[] => {
    const text = block.type === "thinking" ? block.thinking : undefined;
    const isReadable = typeof text === "string" && text !== "";
    const form = block.type === "redacted_thinking" ? "redacted" : "signature";
    const value = form === "redacted" ? block.data : block.signature;
    if (!hasText(value) && !isReadable) return [];
    return [{
      kind: "reasoning",
      parts: isReadable ? [{ form: "raw", text }] : [],
      sealed: typeof value === "string" && value !== ""
        ? sealedOfThinking(form, value)
        : undefined,
    }];
  });
}

function sealedOfThinking(form: string, value: string): Sealed | undefined {
  return isWrapped(value)
    ? unwrapSealed(value)
    : { protocol: "messages", form, value };
}

/** Returns the `reasoning_details` in sealed data, or an empty list if the data has another form. */
export function detailsOfSealed(sealed: Sealed): JsonValue[] {
  const details = sealed.form === SEALED_FORM
    ? parseJson(sealed.value)
    : undefined;
  return Array.isArray(details) ? details : [];
}

/**
 * Returns the `reasoning_details` for a caller. If the provider issued such a list, returns that list. Otherwise
 * returns an envelope that names the connection, `origin`.
 */
export function detailsForCaller(
  sealed: Sealed,
  shown: ShownReasoning,
  origin: string,
): JsonValue[] {
  if (sealed.protocol === "chat" && sealed.form === SEALED_FORM) {
    return detailsOfSealed(sealed);
  }
  return [{
    type: "reasoning.encrypted",
    data: wrapSealed({ ...sealed, origin }, shown),
    index: shown.position,
  }];
}

/** Assembles the `reasoning_details` of a stream. Each chunk has a list, and an entry may arrive in pieces. */
interface DetailsGatherer {
  /** Adds the list of one chunk. */
  push(details: readonly JsonValue[]): void;
  /** Seals the entries since the last call, or returns `undefined` if the entries are only text. */
  take(): Sealed | undefined;
  held(): number;
}

/** Creates a gatherer for one stream. */
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

/**
 * Merges two pieces of an entry. The second text is appended to the first. Other fields of the second piece replace
 * fields of the first piece.
 */
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

/**
 * Gemini puts `extra_content` on a tool call or a message. It holds an object for each of Google's platforms (`google`,
 * `vertex`). The object's `thought_signature` must go back to the model in the same place. The object's `thought` marks
 * text that is thinking. Gemini 3 rejects a request without the signatures of the current turn's calls
 * (ai.google.dev/gemini-api/docs/thought-signatures).
 */

/** The `form` of sealed data whose `value` is the JSON text of `extra_content`. */
const EXTRA_CONTENT_FORM = "extra_content";

/**
 * Seals the `extra_content` of a call, or returns `undefined` if the call has none. The issuer needs the data back.
 */
export function sealedOfCall(extra: JsonValue | undefined): Sealed | undefined {
  if (!isJsonObject(extra) || Object.keys(extra).length === 0) return undefined;
  return {
    protocol: "chat",
    form: EXTRA_CONTENT_FORM,
    value: JSON.stringify(extra),
  };
}

/** Seals the `extra_content` of a message, or returns `undefined` if it holds no signature. */
export function sealedOfMessage(
  extra: JsonValue | undefined,
): Sealed | undefined {
  return platforms(extra).some(({ thought_signature }) =>
      typeof thought_signature === "string" && thought_signature !== ""
    )
    ? sealedOfCall(extra)
    : undefined;
}

/** Returns the `extra_content` in sealed data, or `undefined` if the data has another form. */
export function extraOfSealed(sealed: Sealed): JsonObject | undefined {
  const extra = sealed.protocol === "chat" && sealed.form === EXTRA_CONTENT_FORM
    ? parseJson(sealed.value)
    : undefined;
  return isJsonObject(extra) ? extra : undefined;
}

/** Returns true when `extra` marks its message as thinking. */
export function isThought(extra: JsonValue | undefined): boolean {
  return platforms(extra).some(({ thought }) => thought === true);
}

const NOTHING: readonly JsonObject[] = [];

function platforms(extra: JsonValue | undefined): readonly JsonObject[] {
  return isJsonObject(extra)
    ? Object.values(extra).filter(isJsonObject)
    : NOTHING;
}

/**
 * Google accepts this text in place of a signature that was lost, and for calls of other models, which never had a
 * signature. The Gemini API also documents `context_engineering_is_the_way_to_go`
 * (ai.google.dev/gemini-api/docs/thought-signatures, FAQs); Vertex documents only this text
 * (docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures). Only the first call of a step needs a
 * signature.
 */
const LOST_SIGNATURE = "skip_thought_signature_validator";

/**
 * Returns the `extra_content` for a call that lacks its signature. For Vertex, the signature is also under the key
 * `vertex`: earendil-works/pi#6733.
 */
export function lostExtra(service: string): JsonObject {
  const google = { thought_signature: LOST_SIGNATURE };
  return service === "vertex" ? { google, vertex: google } : { google };
}

/**
 * Returns the `reasoning_details` of a step of Gemini 3. If the details lack signatures, adds an entry with the text of
 * `LOST_SIGNATURE` for each call.
 */
export function signedDetails(
  details: JsonValue[],
  calls: readonly JsonObject[],
): JsonValue[] {
  const entry = { type: "reasoning.encrypted", data: LOST_SIGNATURE };
  return details.some((one) => isJsonObject(one) && one.type === entry.type)
    ? details
    : details.concat(calls.map(({ id = null }) => (
      { ...entry, id, format: "google-gemini-v1" }
    )));
}
