import type { SseComment, SseFrame } from "../core/frame.ts";
import { type Emit, pipe, type Stage } from "../core/stage.ts";
import { createFrameFormat, formatComment } from "../streams/sse.ts";
import type { StreamEncoder } from "./canonical/codec.ts";
import type { AnswerEvent } from "./canonical/stream/event.ts";
import { type Failure, UpstreamFailure } from "./canonical/failure/failure.ts";

/** The parts of one translated stream. */
export interface TranslatorOptions {
  /** Reads the upstream's bytes, as `createBodyDecoder` does. */
  readonly decoder: Stage<Uint8Array, AnswerEvent>;
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

  function step(run: () => void): string {
    if (isOver) return "";
    run();
    return take();
  }

  function take(): string {
    const taken = text;
    text = "";
    return taken;
  }

  return {
    push: (bytes) => step(() => middle.push(bytes, encode)),
    end: () => step(() => middle.end(encode)),
    fail: (failure) => step(() => encode({ type: "failure", failure })),
    keepAlive() {
      if (!isOver) encoder.keepAlive(write);
      return take();
    },
    isOver: () => isOver,
  };
}
