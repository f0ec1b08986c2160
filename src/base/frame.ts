/** One server-sent event: the lines of a stream between two blank lines. */
export interface SseFrame {
  /** The value of the event's `event:` line; absent or empty when there is no such line. */
  readonly event?: string | undefined;
  /** The values of the event's `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** A line that every SSE reader skips. Such a line keeps a silent connection alive. */
export interface SseComment {
  readonly comment: string;
}
