/** One thing that the provider does while it sends a body. */
export type Step =
  /** Writes `text`, after the time that it takes to think of `wordCount` words. */
  | {
    readonly kind: "write";
    readonly text: string;
    readonly wordCount: number;
  }
  | { readonly kind: "wait"; readonly ms: number }
  /** Falls silent for good. */
  | { readonly kind: "hang" }
  /** Cuts the connection. */
  | { readonly kind: "break" };

/** Writes `text` at once, or after the time for `wordCount` words. */
export function write(text: string, wordCount = 0): Step {
  return { kind: "write", text, wordCount };
}

/** Writes an SSE frame without a name, as Chat Completions does. */
export function writeData(data: object, wordCount = 0): Step {
  return write(`data: ${JSON.stringify(data)}\n\n`, wordCount);
}

/** An event of a protocol that names its events. */
export interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Writes an SSE frame that is named for its `type`, as Messages and Responses do. */
export function writeEvent(event: NamedEvent, wordCount = 0): Step {
  return write(
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    wordCount,
  );
}
