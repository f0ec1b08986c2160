import { isJsonObject, parseJson } from "../../../core/json.ts";
import { isProtocol, type Protocol } from "../../../core/protocol.ts";

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
}

/** Begins every envelope; the number is the version of what is inside. */
const ENVELOPE_PREFIX = "mg1.";

/**
 * Puts `sealed` in an envelope that another protocol's field for such things can hold: a Messages
 * `signature`, a Responses `encrypted_content`. Without a sealed part the envelope is empty: it marks
 * reasoning that passed through here, for clients which throw away what has no signature.
 */
export function wrapSealed(sealed?: Sealed): string {
  if (sealed === undefined) return ENVELOPE_PREFIX;
  const { protocol, form, value, id, origin } = sealed;
  return ENVELOPE_PREFIX +
    encodeBase64Url(JSON.stringify({ protocol, form, value, id, origin }));
}

/** Whether {@linkcode wrapSealed} made `text`. */
export function isWrapped(text: string): boolean {
  return text.startsWith(ENVELOPE_PREFIX);
}

/** What is in the envelope; `undefined` when it is empty, damaged or no envelope. */
export function unwrapSealed(text: string): Sealed | undefined {
  if (!isWrapped(text)) return undefined;
  const json = decodeBase64Url(text.slice(ENVELOPE_PREFIX.length));
  const content = json === undefined ? undefined : parseJson(json);
  if (!isJsonObject(content)) return undefined;
  const { protocol, form, value, id, origin } = content;
  if (!isProtocol(protocol)) return undefined;
  if (typeof form !== "string" || typeof value !== "string") return undefined;
  return {
    protocol,
    form,
    value,
    id: typeof id === "string" ? id : undefined,
    origin: typeof origin === "string" ? origin : undefined,
  };
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
