import { createParser } from "eventsource-parser";
import type { SseFrame } from "../core/frame.ts";
import type { Emit, Stage } from "../core/stage.ts";

/** A frame that is longer than may be held. */
export class FrameTooLongError extends Error {
  override readonly name = "FrameTooLongError";
}

/** How much one frame may hold. */
export interface SseParserOptions {
  /** Most characters of an unfinished frame. */
  readonly maxFrameCharacters: number;
}

/**
 * Cuts the bytes of a stream into frames, however they arrive: characters and line ends may be split, lines
 * may end in LF, CR or CRLF, a byte order mark and comments are skipped. A last frame without its blank line
 * counts.
 *
 * @throws {FrameTooLongError} From `push` and `end`, once a frame grows past the limit.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { runStage } from "../core/stage.ts";
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
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: options.maxFrameCharacters,
    onEvent: (frame) => sink(frame),
    onError: (error) => {
      tooLong ||= error.type === "max-buffer-size-exceeded";
    },
  });

  function feed(text: string): void {
    if (!tooLong) parser.feed(text);
    if (tooLong) {
      throw new FrameTooLongError(
        "Cannot read the stream: one of its events is too long",
      );
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
