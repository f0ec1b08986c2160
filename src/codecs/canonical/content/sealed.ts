import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import { isProtocol, type Protocol } from "@gateway/base/protocol";
import { SEAL_MARK } from "@gateway/base/seal_mark";
import { shortDigest } from "@gateway/base/sha256";

/**
 * A part of reasoning that only its issuer can read: a signature, redacted thinking, encrypted content.
 * The gateway never creates, changes or shortens sealed parts, because upstreams verify them.
 */
export interface Sealed {
  /** The protocol whose codec may encode the sealed part. */
  readonly protocol: Protocol;
  /** The kind of sealed part in that protocol, such as `signature`, `redacted` or `encrypted_content`. */
  readonly form: string;
  readonly value: string;
  /** The issuer's id of the reasoning, when the issuer wants that id back. */
  readonly id?: string | undefined;
  /** The connection that issued the sealed part; absent when a caller of the issuer's own protocol sent the part. */
  readonly origin?: string | undefined;
  /** The conversation to which the provider binds the sealed part; absent when there is no binding. */
  readonly bound?: SealBinding | undefined;
  /**
   * The digest of the readable text beside the sealed part; absent when the text that a caller returns is not checked.
   */
  readonly text?: string | undefined;
  /** True when the readable text is the reasoning itself, not a summary. Set only in protocols that have both. */
  readonly isRaw?: boolean | undefined;
  /** True when the caller changed the readable text before it returned the sealed part. */
  readonly isAltered?: boolean | undefined;
}

/** The conversation that a provider binds sealed reasoning to, as digests. */
export interface SealBinding {
  /** The digest of all input and output before the reasoning, in the form that the provider compares. */
  readonly prefix: string;
  /** The {@linkcode sealDigest} of the previous sealed reasoning, in the request or in the answer. */
  readonly after?: string | undefined;
}

/** Returns the digest that identifies sealed reasoning. */
export function sealDigest({ value }: Pick<Sealed, "value">): string {
  return shortDigest(value);
}

/** Returns the digest of the readable text of sealed reasoning. */
export function textDigest(
  parts: readonly { readonly text: string }[],
): string {
  return shortDigest(parts.map(({ text }) => text).join("\n\n"));
}

/** What a caller sees of a block of sealed reasoning. */
export interface ShownReasoning {
  /** The position of the block among the blocks of sealed reasoning in its answer, from 0. */
  readonly position: number;
  readonly parts: readonly ShownPart[];
}

/** One readable part of a block of reasoning. */
interface ShownPart {
  readonly form: "summary" | "raw";
  readonly text: string;
}

/**
 * Wraps `sealed` in an envelope for another protocol's field: a Messages `signature`, a Responses
 * `encrypted_content`. Without a sealed part, the envelope is empty. Translated reasoning needs even an empty
 * envelope, because some clients delete reasoning without a signature.
 *
 * @param shown The readable part. It is in the envelope because some clients return the envelope without the text.
 */
export function wrapSealed(sealed?: Sealed, shown?: ShownReasoning): string {
  if (sealed === undefined) return SEAL_MARK;
  const { protocol, form, value, id, origin, bound, text, isRaw } = sealed;
  return SEAL_MARK + encodeBase64Url(
    JSON.stringify(
      { protocol, form, value, id, origin, bound, text, isRaw, shown },
    ),
  );
}

/** Returns true when `text` comes from {@linkcode wrapSealed}. */
export function isWrapped(text: string): boolean {
  return text.startsWith(SEAL_MARK);
}

/** Returns the sealed part in an envelope; `undefined` for an empty or damaged envelope and for other text. */
export function unwrapSealed(text: string): Sealed | undefined {
  const content = contentOf(text);
  if (content === undefined) return undefined;
  const { protocol, form, value, id, origin, text: digest } = content;
  if (!isProtocol(protocol)) return undefined;
  if (typeof form !== "string" || typeof value !== "string") return undefined;
  const bound = readBound(content.bound);
  return {
    protocol,
    form,
    value,
    id: typeof id === "string" ? id : undefined,
    origin: typeof origin === "string" ? origin : undefined,
    ...(bound === undefined ? {} : { bound }),
    ...(typeof digest === "string" ? { text: digest } : {}),
    ...(content.isRaw === true ? { isRaw: true } : {}),
  };
}

/** Returns the `shown` argument of {@linkcode wrapSealed}; `undefined` when there was none. */
export function unwrapShown(text: string): ShownReasoning | undefined {
  const shown = contentOf(text)?.shown;
  if (!isJsonObject(shown) || !Array.isArray(shown.parts)) return undefined;
  const parts = shown.parts.filter(isPart);
  return typeof shown.position === "number"
    ? { position: shown.position, parts }
    : undefined;
}

function contentOf(text: string): JsonObject | undefined {
  if (!isWrapped(text) || text === SEAL_MARK) return undefined;
  const json = decodeBase64Url(text.slice(SEAL_MARK.length));
  const content = json === undefined ? undefined : parseJson(json);
  return isJsonObject(content) ? content : undefined;
}

function readBound(value: JsonValue | undefined): SealBinding | undefined {
  if (!isJsonObject(value) || typeof value.prefix !== "string") {
    return undefined;
  }
  const { prefix, after } = value;
  return { prefix, after: typeof after === "string" ? after : undefined };
}

function isPart(
  part: JsonValue,
): part is { readonly form: ShownPart["form"]; readonly text: string } {
  return isJsonObject(part) && typeof part.text === "string" &&
    (part.form === "summary" || part.form === "raw");
}

/**
 * Returns true when `sealed` may be sent to an upstream. The upstream must have the protocol of the sealed part. If the
 * issuer is known, the upstream must be that issuer. The caller must not have changed the readable text.
 *
 * @param target The protocol and the connection of the attempt.
 */
export function maySend(
  sealed: Sealed,
  target: { readonly protocol: Protocol; readonly connectionId: string },
): boolean {
  return sealed.isAltered !== true && sealed.protocol === target.protocol &&
    (sealed.origin === undefined || sealed.origin === target.connectionId);
}

function encodeBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(
    /=+$/,
    "",
  );
}

function decodeBase64Url(text: string): string | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(
      binary,
      (character) => character.charCodeAt(0),
    );
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
