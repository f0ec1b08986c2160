/** Whether a content type is that of a stream of server-sent events. */
export function isEventStream(contentType: string): boolean {
  return /^\s*text\/event-stream\b/i.test(contentType);
}

/** Whether a content type is one of JSON, such as `application/problem+json`. */
export function isJson(contentType: string): boolean {
  return /json/i.test(contentType);
}
