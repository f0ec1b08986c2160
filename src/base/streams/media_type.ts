import { byteText } from "./bytes.ts";

/** Returns true for the content type of server-sent events. */
export function isEventStream(contentType: string): boolean {
  return /^\s*text\/event-stream\b/i.test(contentType);
}

/** Returns true for a content type of JSON, such as `application/problem+json`. */
export function isJson(contentType: string): boolean {
  return /json/i.test(contentType);
}

/** The kind of a body's content; `other` if its first bytes are neither events nor JSON. */
export type BodyKind = "events" | "json" | "other";

/**
 * Returns the kind of a body by its first bytes. Servers label events as JSON and JSON as events
 * (https://github.com/openclaw/openclaw/pull/97454, https://github.com/mistralai/mistral-vibe/pull/619).
 *
 * @param start The first bytes of the body; one byte is enough.
 * @returns `undefined` while there is only white space.
 */
export function bodyKind(start: Uint8Array): BodyKind | undefined {
  if (start[0] === OPEN_BRACE) return "json";
  const text = byteText(start.subarray(0, MAX_START_BYTES)).replace(MARK, "")
    .trimStart();
  if (text === "") return undefined;
  if (text.startsWith("{") || text.startsWith("[")) return "json";
  const isField = FIELDS.some((field) =>
    text.startsWith(field) || field.startsWith(text)
  );
  return isField ? "events" : "other";
}

const OPEN_BRACE = 0x7b;

/** The beginnings of the lines of an event stream; a line that begins with a colon is a comment. */
const FIELDS = ["data:", "event:", "id:", "retry:", ":"];

/** Matches a byte order mark in a text of `byteText`, or a part of it. */
const MARK = /^[\xef\xbb\xbf]+/;

const MAX_START_BYTES = 1024;

/** Returns the number of bytes of a byte order mark, or of a part of one, at the start of a body. */
export function markBytes(start: Uint8Array): number {
  const [mark = ""] = MARK.exec(byteText(start.subarray(0, 3))) ?? [];
  return mark.length;
}
