/**
 * Signatures and encrypted reasoning of the demo: text that callers must hand back unchanged. Like a real
 * provider the demo refuses a token that it did not make; unlike one it hides nothing.
 */

const MARK = "demo1";

/** A token for `text` that {@linkcode unseal} opens again. */
export function seal(text: string): string {
  const bytes = new TextEncoder().encode(`${MARK}.${checksum(text)}.${text}`);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return btoa(binary.join(""));
}

/** The text inside `token`, or `undefined` when this provider did not make it. */
export function unseal(token: string): string | undefined {
  const [, mark, sum, text] =
    decode(token)?.match(/^([^.]*)\.([^.]*)\.([\s\S]*)$/) ?? [];
  if (mark !== MARK || text === undefined || sum !== checksum(text)) {
    return undefined;
  }
  return text;
}

function decode(token: string): string | undefined {
  try {
    const bytes = Uint8Array.from(
      atob(token),
      (character) => character.charCodeAt(0),
    );
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** FNV-1a over UTF-16 units: tells an altered text from a whole one. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
