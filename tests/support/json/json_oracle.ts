import { isJsonObject, parseJson } from "../../../src/base/json.ts";
import type { ByteSpan } from "../../../src/json_scan/key.ts";

/** The expected result of a scan. */
export type Verdict =
  | { readonly kind: "refused" }
  | { readonly kind: "duplicate"; readonly key: string }
  | { readonly kind: "found"; readonly spans: ReadonlyMap<string, ByteSpan> };

/**
 * Judges `bytes` with the platform's own decoder and parser. Only the positions of members come
 * from our own split of the text into tokens.
 */
export function judgeJsonObject(
  bytes: Uint8Array,
  keys: readonly string[],
): Verdict {
  const text = decodeStrictly(bytes);
  if (text === undefined || !isJsonObject(parseJson(text))) {
    return { kind: "refused" };
  }
  const spans = new Map<string, ByteSpan>();
  for (const { name, start, end } of topLevelMembers(text)) {
    const alike = keys.find((key) => isSameButForCase(name, key));
    if (alike === undefined) continue;
    if (alike !== name) return { kind: "duplicate", key: alike };
    if (spans.has(name)) return { kind: "duplicate", key: name };
    spans.set(name, {
      start: byteLength(text.slice(0, start)),
      end: byteLength(text.slice(0, end)),
    });
  }
  return { kind: "found", spans };
}

/** Compares ASCII letters only, as lenient parsers and the scanner do. */
function isSameButForCase(name: string, key: string): boolean {
  const fold = (text: string) =>
    text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return fold(name) === fold(key);
}

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(bytes);
  } catch {
    return undefined;
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

const TOKEN_REGEXP = /"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+/g;

interface Member {
  readonly name: string;
  /** The position of the value, in UTF-16 code units. */
  readonly start: number;
  end: number;
}

/** Returns the members of the valid JSON object `text`, in its order. */
function topLevelMembers(text: string): Member[] {
  const members: Member[] = [];
  const tokens = [...text.matchAll(TOKEN_REGEXP)].map((match) => ({
    token: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
  let depth = 0;
  tokens.forEach(({ token }, index) => {
    if (token === "}" || token === "]") depth--;
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if (token === ":" && depth === 1 && before && after) {
      const name = JSON.parse(before.token);
      members.push({ name, start: after.start, end: after.end });
    }
    const isMemberEnd = depth === 0 || (depth === 1 && token === ",");
    const member = members.at(-1);
    if (isMemberEnd && member && before) member.end = before.end;
    if (token === "{" || token === "[") depth++;
  });
  return members;
}
