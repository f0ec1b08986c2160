import type { SseComment, SseFrame } from "../core/frame.ts";

/** Returns a frame as text, its blank line included; its data must be JSON text, or a word such as `[DONE]`. */
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
    return `${head}${onOneLine(data)}\n\n`;
  };
}

/**
 * Escapes what JSON allows in strings and some readers take for the end of a line, such as those that cut a stream
 * with Python's `str.splitlines` (https://github.com/openai/openai-python/issues/1230).
 */
function onOneLine(json: string): string {
  return LINE_END_REGEXP.test(json)
    ? json.replaceAll("\u0085", "\\u0085").replaceAll("\u2028", "\\u2028")
      .replaceAll("\u2029", "\\u2029")
    : json;
}

const LINE_END_REGEXP = /[\x85\u2028\u2029]/;

function headOf(event: string | undefined): string {
  return event ? `event: ${event}\ndata: ` : "data: ";
}

/** A comment as text; `comment` must hold no line end. */
export function formatComment({ comment }: SseComment): string {
  return `: ${comment}\n\n`;
}
