import type { SseComment, SseFrame } from "../core/frame.ts";

/** A frame as text, its blank line included. Data that holds line feeds becomes several `data:` lines. */
export function formatFrame(frame: SseFrame): string {
  const { event, data } = frame;
  const lines = data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data;
  return event ? `event: ${event}\ndata: ${lines}\n\n` : `data: ${lines}\n\n`;
}

/** A comment as text; `comment` must hold no line end. */
export function formatComment({ comment }: SseComment): string {
  return `: ${comment}\n\n`;
}
