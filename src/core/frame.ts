/** One server-sent event: what stands between two blank lines of a stream. */
export interface SseFrame {
  /** The value of its `event:` line; absent or empty where it has none. */
  readonly event?: string | undefined;
  /** The values of its `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** A line that every SSE reader skips; keeps a silent connection alive. */
export interface SseComment {
  readonly comment: string;
}
