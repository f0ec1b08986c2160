import type { SseComment, SseFrame } from "../core/frame.ts";

/** A frame as text, its blank line included; its data must be of one line, as JSON text is. */
export function formatFrame(frame: SseFrame): string {
  return createFrameFormat()(frame);
}

/** The same for the frames of one stream, most of which have the name of the one before. */
export function createFrameFormat(): (frame: SseFrame) => string {
  let name: string | undefined;
  let head = headOf(name);
  return ({ event, data }) => {
    if (event !== name) head = headOf(event);
    name = event;
    return `${head}${data}\n\n`;
  };
}

function headOf(event: string | undefined): string {
  return event ? `event: ${event}\ndata: ` : "data: ";
}

/** A comment as text; `comment` must hold no line end. */
export function formatComment({ comment }: SseComment): string {
  return `: ${comment}\n\n`;
}
