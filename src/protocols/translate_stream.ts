import type { SseComment, SseFrame } from "../core/frame.ts";
import { type Emit, pipe, type Stage } from "../core/stage.ts";
import { createFrameFormat, formatComment } from "../streams/sse_format.ts";
import { createSseParser, FrameTooLongError } from "../streams/sse_parse.ts";
import type { StreamEncoder } from "./canonical/codec.ts";
import { type AnswerEvent, oversizedEvent } from "./canonical/stream/event.ts";
import { type Failure, UpstreamFailure } from "./canonical/failure/failure.ts";
import { wholePart } from "./canonical/stream/last_frame.ts";
import { MAX_FRAME_CHARACTERS } from "./canonical/limits.ts";

/** The parts of one translated stream. */
export interface TranslatorOptions {
  /** Reads the upstream's protocol. */
  readonly decoder: Stage<SseFrame, AnswerEvent>;
  /** Between the two, such as `restoreTools`. */
  readonly between?: Stage<AnswerEvent, AnswerEvent> | undefined;
  /** Writes the caller's protocol. */
  readonly encoder: StreamEncoder;
  /** Sees every event once, before it is written: for accounting and for the commit on the first output. */
  readonly observe?: ((event: AnswerEvent) => void) | undefined;
}

/**
 * One translated stream as plain synchronous code: bytes of one protocol in, text of the other out, "" for
 * nothing. After a terminal event it gives nothing more.
 */
export interface Translator {
  /** Takes the next bytes of the upstream. */
  push(bytes: Uint8Array): string;
  /** Told that the upstream's bytes are over. */
  end(): string;
  /** Told of a failure that is not in the bytes: a reset, a deadline. */
  fail(failure: Failure): string;
  /** What to say while the upstream is silent. */
  keepAlive(): string;
  /** Whether the answer's end or failure has been written. */
  isOver(): boolean;
}

/** Puts a translator together. */
export function createTranslator(options: TranslatorOptions): Translator {
  const { encoder, observe } = options;
  const parser = createSseParser({ maxFrameCharacters: MAX_FRAME_CHARACTERS });
  let text = "";
  let isOver = false;

  const format = createFrameFormat();
  const write: Emit<SseFrame | SseComment> = (frame) => {
    text += "comment" in frame ? formatComment(frame) : format(frame);
  };
  const tell = (event: AnswerEvent) => {
    isOver = event.type === "end" || event.type === "failure";
    observe?.(event);
    encoder.push(event, write);
    if (isOver) encoder.end(write);
  };
  const encode: Emit<AnswerEvent> = (event) => {
    if (isOver) return;
    try {
      tell(event);
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      tell({ type: "failure", failure: error.failure });
    }
  };
  const middle = options.between === undefined
    ? options.decoder
    : pipe(options.decoder, options.between);
  const decode: Emit<SseFrame> = (frame) => middle.push(frame, encode);

  /** Runs one step, and turns a frame that is too long into the answer's failure. */
  function step(run: () => void): string {
    if (isOver) return "";
    try {
      run();
    } catch (error) {
      if (!(error instanceof FrameTooLongError)) throw error;
      encode(oversizedEvent("The provider sent an event that is too long"));
    }
    return take();
  }

  function take(): string {
    const taken = text;
    text = "";
    return taken;
  }

  return {
    push: (bytes) => step(() => parser.push(bytes, decode)),
    end: () =>
      step(() => {
        parser.end((frame) => {
          const whole = wholePart(frame);
          if (whole !== undefined) decode(whole);
        });
        middle.end(encode);
      }),
    fail: (failure) => step(() => encode({ type: "failure", failure })),
    keepAlive() {
      if (!isOver) encoder.keepAlive(write);
      return take();
    },
    isOver: () => isOver,
  };
}
