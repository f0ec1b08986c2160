/**
 * The mark of the demo's signatures and encrypted reasoning, which callers must return unchanged. Like a real provider,
 * the demo rejects a token that it did not make. Unlike one, it does not encrypt the text.
 */
const MARK = "demo1";

/** Returns a token for `text` that {@linkcode unseal} opens. */
export function seal(text: string): string {
  const bytes = new TextEncoder().encode(`${MARK}.${checksum(text)}.${text}`);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return btoa(binary.join(""));
}

/** Returns the text inside `token`; `undefined` when this provider did not make the token. */
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

/** Returns the FNV-1a hash over UTF-16 units, which detects a changed text. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
