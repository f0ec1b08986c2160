/**
 * A text from elsewhere, fit for one line of a terminal: without control characters, which could move the
 * cursor, and without marks that turn the direction of writing.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
}
