/**
 * The beginning of a text that somebody else wrote, so that what tells of it stays short.
 *
 * @param maxLength In UTF-16 code units, the ellipsis aside.
 */
export function shorten(text: string, maxLength: number): string {
  return text.length > maxLength
    ? `${text.slice(0, maxLength).toWellFormed()}…`
    : text;
}
