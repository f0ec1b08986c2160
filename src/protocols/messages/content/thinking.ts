import type { JsonObject } from "../../../core/json.ts";
import type {
  ReasoningBlock,
  ReasoningPart,
} from "../../canonical/answer/block.ts";
import { PARAGRAPH } from "../../canonical/answer/paragraphs.ts";
import {
  isWrapped,
  type Sealed,
  unwrapSealed,
  wrapSealed,
} from "../../canonical/answer/sealed.ts";
import { optionalText } from "../request/fields.ts";

/**
 * Thinking blocks: text with a signature, or `redacted_thinking` that nobody can read. The gateway puts
 * sealed parts of other protocols in the place of the signature, in an envelope.
 */

/** The `form` of a signature, and of redacted thinking. */
const SIGNATURE_FORM = "signature";
const REDACTED_FORM = "redacted";

/** Reads a `thinking` or `redacted_thinking` block that a caller gives back. */
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
  return {
    kind: "reasoning",
    parts: text === "" ? [] : [{ form: "raw", text }],
    sealed: isWrapped(signature)
      ? unwrapSealed(signature)
      : sealedOfSignature(signature),
  };
}

/** A signature as its issuer gave it; `undefined` for an empty one or an envelope with nothing inside. */
export function sealedOfSignature(signature: string): Sealed | undefined {
  if (signature === "" || signature === wrapSealed()) return undefined;
  return { protocol: "messages", form: SIGNATURE_FORM, value: signature };
}

/** The data of redacted thinking; `undefined` where there is none. */
export function sealedOfRedacted(data: string): Sealed | undefined {
  if (data === "") return undefined;
  return { protocol: "messages", form: REDACTED_FORM, value: data };
}

/** Whether a sealed part is redacted thinking, which has a block of its own. */
export function isRedacted(sealed: Sealed | undefined): boolean {
  return sealed?.protocol === "messages" && sealed.form === REDACTED_FORM;
}

/** The readable text of reasoning, its parts as paragraphs. */
export function thinkingText(parts: readonly ReasoningPart[]): string {
  return parts.map(({ text }) => text).filter((text) => text !== "")
    .join(PARAGRAPH);
}

/**
 * What a caller gets as `signature`: the issuer's own, or an envelope, so that clients which throw unsigned
 * thinking away keep it and give it back.
 *
 * @param origin The connection that issued it.
 */
export function signatureForCaller(
  sealed: Sealed | undefined,
  origin: string,
): string {
  if (sealed === undefined) return wrapSealed();
  const isOwn = sealed.protocol === "messages" &&
    sealed.form === SIGNATURE_FORM && !isWrapped(sealed.value);
  return isOwn ? sealed.value : wrapSealed({ ...sealed, origin });
}

/** Thinking as its issuer gets it back. */
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
