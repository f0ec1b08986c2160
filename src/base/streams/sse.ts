import { createParser } from "eventsource-parser";
import type { SseComment, SseFrame } from "../frame.ts";
import type { Emit, Stage } from "../stage.ts";

/** The error for an event that exceeds the limit. */
export class FrameTooLongError extends Error {
  override readonly name = "FrameTooLongError";
}

interface SseParserOptions {
  /** The maximum length of an unfinished event, in characters. */
  readonly maxFrameCharacters: number;
}

/**
 * The maximum number of lines of an unfinished event, roughly. JSON has one line, or some thousand lines if it is
 * indented. Joining a million lines takes a second.
 */
const MAX_FRAME_LINES = 64 * 1024;

const LINE_END_REGEXP = /[\r\n]/g;

const BLANK_LINE_REGEXP = /\n\r?\n|\r\r/;

/**
 * Creates a parser that splits a stream's bytes into events. Characters and line ends may be split between chunks, and
 * lines may end in LF, CR or CRLF. A byte order mark and comments are skipped. The last event needs no blank line.
 *
 * @throws {FrameTooLongError} From `push` and `end`, once an event exceeds the limit or has too many lines.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { runStage } from "../stage.ts";
 *
 * const parser = createSseParser({ maxFrameCharacters: 1024 });
 * const chunks = ["event: ping\nda", "ta: {}\n\n"].map((text) =>
 *   new TextEncoder().encode(text)
 * );
 * const [frame] = runStage(parser, chunks);
 * assert.equal(frame?.event, "ping");
 * assert.equal(frame?.data, "{}");
 * ```
 */
export function createSseParser(
  options: SseParserOptions,
): Stage<Uint8Array, SseFrame> {
  const decoder = new TextDecoder();
  let sink: Emit<SseFrame> = () => {};
  let isTooLong = false;
  let lines = 0;
  let hasFrame = false;
  // With an `onError`, the parser creates an error for each line with an unknown field. 64 KiB of such lines then take
  // 200 ms.
  const parser = createParser({
    maxBufferSize: options.maxFrameCharacters,
    onEvent(frame) {
      hasFrame = true;
      sink(frame);
    },
  });

  function feed(text: string): void {
    if (!isTooLong) {
      hasFrame = false;
      parser.feed(text);
      lines = hasFrame || BLANK_LINE_REGEXP.test(text)
        ? 0
        : lines + (text.match(LINE_END_REGEXP)?.length ?? 0);
      isTooLong = lines > MAX_FRAME_LINES || isTerminated();
    }
    if (isTooLong) {
      throw new FrameTooLongError(
        "Cannot read the stream: one of its events is too long.",
      );
    }
  }

  /** Returns true when the parser has exceeded its limit: it then throws on any input. */
  function isTerminated(): boolean {
    try {
      parser.feed("");
      return false;
    } catch {
      return true;
    }
  }

  return {
    push(bytes, emit) {
      sink = emit;
      feed(decoder.decode(bytes, { stream: true }));
    },
    end(emit) {
      sink = emit;
      feed(`${decoder.decode()}\n\n`);
    },
  };
}

/** Formats an event, with its blank line. The event's data must be JSON text, or a word such as `[DONE]`. */
export function formatFrame(frame: SseFrame): string {
  const writer = new FrameWriter();
  writer.write(frame);
  return writer.take();
}

/** Formats the events and comments of one stream. Keeps the head of the last event, because names mostly repeat. */
export class FrameWriter {
  #text = "";
  #name: string | undefined;
  #head = headOf(undefined);

  /** Adds an event, as {@linkcode formatFrame} takes it, or a comment. A comment must not contain a line end. */
  readonly write: Emit<SseFrame | SseComment> = (frame) => {
    if ("comment" in frame) this.#text += `: ${frame.comment}\n\n`;
    else {
      const { event, data } = frame;
      if (event !== this.#name) this.#head = headOf(event);
      this.#name = event;
      this.#text += `${this.#head}${data}\n\n`;
    }
  };

  /** Returns the text since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return LINE_END_ESCAPES.reduce(
      (escaped, [end, escape]) => escaped.replaceAll(end, escape),
      text,
    );
  }
}

/**
 * The characters that JSON allows in strings but some readers take for the end of a line. One such reader is Python's
 * `str.splitlines` (https://github.com/openai/openai-python/issues/1230). The characters occur only in the strings of
 * the data.
 */
const LINE_END_ESCAPES = [
  ["\u0085", "\\u0085"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
] as const;

function headOf(event: string | undefined): string {
  return event ? `event: ${event}\ndata: ` : "data: ";
}
