import { byteText } from "./bytes.ts";

/** Whether a content type is that of a stream of server-sent events. */
export function isEventStream(contentType: string): boolean {
  return /^\s*text\/event-stream\b/i.test(contentType);
}

/** Whether a content type is one of JSON, such as `application/problem+json`. */
export function isJson(contentType: string): boolean {
  return /json/i.test(contentType);
}

/** What a body holds; `other` where its first bytes are neither's. */
export type BodyKind = "events" | "json" | "other";

/**
 * Returns what a body holds, by its first bytes: servers label events as JSON and JSON as events
 * (https://github.com/openclaw/openclaw/pull/97454, https://github.com/mistralai/mistral-vibe/pull/619).
 *
 * @param start Its first bytes, however few.
 * @returns `undefined` while there is only white space.
 */
export function bodyKind(start: Uint8Array): BodyKind | undefined {
  const text = byteText(start.subarray(0, MAX_LOOKED_AT)).replace(MARK, "")
    .trimStart();
  if (text === "") return undefined;
  if (text.startsWith("{") || text.startsWith("[")) return "json";
  const isField = FIELDS.some((field) =>
    text.startsWith(field) || field.startsWith(text)
  );
  return isField ? "events" : "other";
}

/** What the lines of a stream of events begin with; one that begins with a colon is a comment. */
const FIELDS = ["data:", "event:", "id:", "retry:", ":"];

/** A byte order mark as `byteText` has it, or some of its bytes. */
const MARK = /^[\xef\xbb\xbf]+/;

const MAX_LOOKED_AT = 1024;
