/**
 * The characters that do not show, look like a space or reorder text (Unicode 16, sections 5.21 and 23.2–23.4). Such
 * characters would let the names of two callers look the same.
 */
const HIDDEN_REGEXP =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** Returns true when every character of a caller's name is visible, and no white space surrounds it. */
export function isPlainName(name: string): boolean {
  return name === name.trim() && !HIDDEN_REGEXP.test(name);
}
