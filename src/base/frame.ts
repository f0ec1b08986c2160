/** One server-sent event: the lines of a stream between two blank lines. */
export interface SseFrame {
  /** The value of its `event:` line; absent or empty when the event has no such line. */
  readonly event?: string | undefined;
  /** The values of its `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** A line that every SSE reader skips. It keeps a silent connection alive. */
export interface SseComment {
  readonly comment: string;
}
