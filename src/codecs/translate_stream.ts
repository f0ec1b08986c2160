import type { Ids } from "@gateway/base/ids";
import { type Emit, pipe, type Stage } from "@gateway/base/stage";
import { FrameWriter } from "@gateway/base/streams/sse";
import { bindReasoning } from "./canonical/answer/bound.ts";
import { readTaggedReasoning } from "./canonical/answer/tagged_reasoning.ts";
import { cutAtStops } from "./canonical/answer/stop_strings.ts";
import type { StreamEncoder } from "./canonical/codec.ts";
import type { AnswerEvent } from "./canonical/stream/event.ts";
import {
  EMPTY_ANSWER,
  type Failure,
  UpstreamFailure,
} from "./canonical/failure/failure.ts";
import { MAX_EMPTY_BYTES } from "./canonical/max_sizes.ts";
import {
  type AnswerEdits,
  restoreTools,
} from "./canonical/tools/restore_tools.ts";
import { settleCalls } from "./canonical/tools/settle_calls.ts";

/**
 * Returns the stage between the decoder and the encoder of an answer.
 *
 * @param ids The source of ids for calls, if the ids of the provider are not unique.
 * @param isWhole True for an answer that was not streamed. The calls of such an answer have no limits of their own.
 */
export function editAnswer(
  { aliases, cuts, isTagged, bound }: AnswerEdits,
  ids: Ids,
  isWhole = false,
): Stage<AnswerEvent, AnswerEvent> {
  return [
    ...(isTagged ? [readTaggedReasoning()] : []),
    ...(cuts.length === 0 ? [] : [cutAtStops(cuts)]),
    ...(aliases.size === 0 ? [] : [restoreTools(aliases)]),
    settleCalls(isWhole, ids),
    ...(bound === undefined ? [] : [bindReasoning(bound)]),
  ].reduce((first, second) => pipe(first, second));
}

interface TranslatorOptions {
  /** Decodes the bytes of the upstream, like the stage that `createBodyDecoder` returns. */
  readonly decoder: Stage<Uint8Array, AnswerEvent>;
  /** A stage between decoder and encoder, for example from {@linkcode editAnswer}. */
  readonly between?: Stage<AnswerEvent, AnswerEvent> | undefined;
  /** Encodes the events in the caller's protocol. */
  readonly encoder: StreamEncoder;
  /**
   * Called once for each event before the event is encoded. The caller can count usage, and commit on the first output.
   */
  readonly observe?: ((event: AnswerEvent) => void) | undefined;
}

/**
 * The synchronous translation of one stream. Takes the bytes of the upstream's protocol and returns text in the
 * caller's protocol. Returns "" when there is no output, and always after the answer's end or failure.
 */
export interface Translator {
  /** Takes the next bytes of the upstream. After `MAX_EMPTY_BYTES` without output, the stream ends with a failure. */
  push(bytes: Uint8Array): string;
  /** Ends the stream after the upstream's last bytes. */
  end(): string;
  /** Ends the stream with a failure that the bytes do not report, such as a reset or a deadline. */
  fail(failure: Failure): string;
  /** Returns the text that keeps the caller's connection open while the upstream is silent. */
  keepAlive(): string;
  /** Returns true after the answer's end or failure has been written. */
  isOver(): boolean;
}

/** Returns a translator for one stream. */
export function createTranslator(options: TranslatorOptions): Translator {
  const { encoder, observe } = options;
  const frames = new FrameWriter();
  const { write } = frames;
  let isOver = false;
  let emptyBytes = 0;

  const writeEvent = (event: AnswerEvent) => {
    isOver = event.type === "end" || event.type === "failure";
    observe?.(event);
    encoder.push(event, write);
    if (isOver) encoder.end(write);
  };
  const encode: Emit<AnswerEvent> = (event) => {
    if (isOver) return;
    try {
      writeEvent(event);
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      writeEvent({ type: "failure", failure: error.failure });
    }
  };
  const middle = options.between === undefined
    ? options.decoder
    : pipe(options.decoder, options.between);

  function step(run: () => void): string {
    if (isOver) return "";
    run();
    return frames.take();
  }

  const fail = (failure: Failure) =>
    step(() => encode({ type: "failure", failure }));

  return {
    push(bytes) {
      const text = step(() => middle.push(bytes, encode));
      emptyBytes = text === "" ? emptyBytes + bytes.length : 0;
      return emptyBytes > MAX_EMPTY_BYTES ? fail(EMPTY_ANSWER) : text;
    },
    end: () => step(() => middle.end(encode)),
    fail,
    keepAlive() {
      if (!isOver) encoder.keepAlive(write);
      return frames.take();
    },
    isOver: () => isOver,
  };
}
