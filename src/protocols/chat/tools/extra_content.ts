import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import type { Sealed } from "../../canonical/answer/sealed.ts";

/**
 * Gemini's `extra_content`, on a tool call or on a message: an object for each of Google's platforms (`google`,
 * `vertex`) with the `thought_signature` that the model wants back in the same place, and `thought` on text that is
 * thinking. Without the signatures of the running turn's calls Gemini 3 refuses the request
 * (ai.google.dev/gemini-api/docs/thought-signatures).
 */

/** The `form` of a sealed `extra_content`; its value is the JSON text. */
const SEALED_FORM = "extra_content";

/** What of a call's `extra_content` goes back to its issuer: all of it; `undefined` where there is none. */
export function sealedOfCall(
  extra: JsonValue | undefined,
): Sealed | undefined {
  if (!isJsonObject(extra) || Object.keys(extra).length === 0) return undefined;
  return { protocol: "chat", form: SEALED_FORM, value: JSON.stringify(extra) };
}

/** The same of a message's, where it holds a signature. */
export function sealedOfMessage(
  extra: JsonValue | undefined,
): Sealed | undefined {
  return platforms(extra).some(({ thought_signature }) =>
      typeof thought_signature === "string" && thought_signature !== ""
    )
    ? sealedOfCall(extra)
    : undefined;
}

/** The `extra_content` for the upstream that issued it; `undefined` for another sealed thing. */
export function extraOfSealed(sealed: Sealed): JsonObject | undefined {
  const extra = sealed.protocol === "chat" && sealed.form === SEALED_FORM
    ? parseJson(sealed.value)
    : undefined;
  return isJsonObject(extra) ? extra : undefined;
}

/** Whether the content beside it is thinking. */
export function isThought(extra: JsonValue | undefined): boolean {
  return platforms(extra).some(({ thought }) => thought === true);
}

const NOTHING: readonly JsonObject[] = [];

function platforms(extra: JsonValue | undefined): readonly JsonObject[] {
  return isJsonObject(extra)
    ? Object.values(extra).filter(isJsonObject)
    : NOTHING;
}
