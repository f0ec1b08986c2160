import type { SseComment, SseFrame } from "../core/frame.ts";

/** A frame as text, its blank line included; its data must be of one line, as JSON text is. */
export function formatFrame(frame: SseFrame): string {
  const { event, data } = frame;
  return event ? `event: ${event}\ndata: ${data}\n\n` : `data: ${data}\n\n`;
}

/** A comment as text; `comment` must hold no line end. */
export function formatComment({ comment }: SseComment): string {
  return `: ${comment}\n\n`;
}
