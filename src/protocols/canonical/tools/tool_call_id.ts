import { createHash } from "node:crypto";

/** What a protocol or upstream allows as the id of a tool call. */
export interface IdRule {
  /** Longest id in characters; at least 16. */
  readonly maxLength: number;
  /** Whether any character may stand in it; else only `A-Z a-z 0-9 _ -`. */
  readonly anyCharacter?: boolean | undefined;
}

const LEGAL_REGEXP = /^[A-Za-z0-9_-]+$/;
const HASH_LENGTH = 8;

/**
 * `id` as it may stand on the wire: unchanged when it is legal, else its legal characters and a hash of the
 * whole, so that two ids never become one. The same input gives the same output: use it for calls and for
 * their results.
 */
export function fitId(id: string, rule: IdRule): string {
  const isLegal = rule.anyCharacter === true || LEGAL_REGEXP.test(id);
  if (id.length <= rule.maxLength && isLegal) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(
    0,
    HASH_LENGTH,
  );
  const cleaned = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${cleaned.slice(0, rule.maxLength - HASH_LENGTH - 1)}_${hash}`;
}
