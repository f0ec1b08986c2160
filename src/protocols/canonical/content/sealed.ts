import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import { isProtocol, type Protocol } from "../../../core/protocol.ts";
import { shortDigest } from "../../../core/sha256.ts";

/**
 * A part of reasoning that only its issuer can read: a signature, redacted thinking, encrypted content.
 * It is never made, changed or shortened here: upstreams verify it.
 */
export interface Sealed {
  /** Whose codec may spell it. */
  readonly protocol: Protocol;
  /** Which of that protocol's sealed things it is, such as `signature`, `redacted` or `encrypted_content`. */
  readonly form: string;
  readonly value: string;
  /** The id that the issuer gave the reasoning, where it must go back too. */
  readonly id?: string | undefined;
  /** The connection that issued it; absent when it came from a caller of the issuer's own protocol. */
  readonly origin?: string | undefined;
  /** Of reasoning, what it is bound to; absent where its provider binds it to nothing. */
  readonly bound?: Bound | undefined;
}

/** What a provider binds sealed reasoning to, as digests. */
export interface Bound {
  /** Of everything that was sent or said before the reasoning, in the form that the provider compares. */
  readonly prefix: string;
  /** The {@linkcode sealDigest} of the sealed reasoning before it, in the request or in the answer. */
  readonly after?: string | undefined;
}

/** A digest that stands for sealed reasoning. */
export function sealDigest({ value }: Pick<Sealed, "value">): string {
  return shortDigest(value);
}

/** What a caller is shown of a block of sealed reasoning. */
export interface ShownReasoning {
  /** Its position among the sealed reasoning of its answer, from 0. */
  readonly position: number;
  readonly parts: readonly ShownPart[];
}

/** A readable piece of it, as in a block of reasoning. */
export interface ShownPart {
  readonly form: "summary" | "raw";
  readonly text: string;
}

/** Begins every envelope; the number is the version of what is inside. */
const ENVELOPE_PREFIX = "mg1.";

/**
 * Puts `sealed` in an envelope that another protocol's field for such things can hold: a Messages
 * `signature`, a Responses `encrypted_content`. Without a sealed part the envelope is empty: it marks
 * reasoning that passed through here, for clients which throw away what has no signature.
 *
 * @param shown Goes in too, for protocols whose clients give back the envelope but not always the text.
 */
export function wrapSealed(sealed?: Sealed, shown?: ShownReasoning): string {
  if (sealed === undefined) return ENVELOPE_PREFIX;
  const { protocol, form, value, id, origin, bound } = sealed;
  const content = { protocol, form, value, id, origin, bound, shown };
  return ENVELOPE_PREFIX + encodeBase64Url(JSON.stringify(content));
}

/** Whether {@linkcode wrapSealed} made `text`. */
export function isWrapped(text: string): boolean {
  return text.startsWith(ENVELOPE_PREFIX);
}

/** Returns what is in an envelope; `undefined` for an empty one, a damaged one and other text. */
export function unwrapSealed(text: string): Sealed | undefined {
  const content = contentOf(text);
  if (content === undefined) return undefined;
  const { protocol, form, value, id, origin } = content;
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
  };
}

/** Returns what {@linkcode wrapSealed} was given as shown; `undefined` where that was nothing. */
export function unwrapShown(text: string): ShownReasoning | undefined {
  const shown = contentOf(text)?.shown;
  if (!isJsonObject(shown) || !Array.isArray(shown.parts)) return undefined;
  const parts = shown.parts.filter(isPart);
  return typeof shown.position === "number"
    ? { position: shown.position, parts }
    : undefined;
}

function contentOf(text: string): JsonObject | undefined {
  if (!isWrapped(text)) return undefined;
  const json = decodeBase64Url(text.slice(ENVELOPE_PREFIX.length));
  const content = json === undefined ? undefined : parseJson(json);
  return isJsonObject(content) ? content : undefined;
}

function readBound(value: JsonValue | undefined): Bound | undefined {
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
 * Whether an upstream may be given `sealed` back: it speaks the protocol and, where the issuer is known,
 * is the issuer.
 *
 * @param target The protocol spoken to the upstream and the connection's id.
 */
export function maySend(
  sealed: Sealed,
  target: { readonly protocol: Protocol; readonly connectionId: string },
): boolean {
  return sealed.protocol === target.protocol &&
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
