import type { SseFrame } from "@gateway/base/frame";
import type { Ids } from "@gateway/base/ids";
import { isHeavyJson, parseJson, parseLightJson } from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import {
  type BodyKind,
  bodyKind,
  markBytes,
} from "@gateway/base/streams/media_type";
import { createSseParser, FrameTooLongError } from "@gateway/base/streams/sse";
import type { Answer } from "./canonical/answer/answer.ts";
import { createFold, unfoldAnswer } from "./canonical/answer/fold.ts";
import type { Codec } from "./canonical/codec.ts";
import { EMPTY_ANSWER, UpstreamFailure } from "./canonical/failure/failure.ts";
import {
  MAX_EMPTY_BYTES,
  MAX_FRAME_CHARACTERS,
} from "./canonical/max_sizes.ts";
import {
  type AnswerEvent,
  brokenEvent,
  oversizedEvent,
} from "./canonical/stream/event.ts";

/**
 * Returns a stage that decodes the body of an upstream's response. If the body begins as a JSON object, the whole body
 * is read as one object. Otherwise the body is read as a stream of events. Every error becomes one `failure` event.
 */
export function createBodyDecoder(
  codec: Pick<Codec, "createStreamDecoder" | "decodeAnswer">,
  ids: Ids,
): Stage<Uint8Array, AnswerEvent> {
  const events = eventDecoder(codec.createStreamDecoder(ids));
  let kind: BodyKind | undefined;
  let chosen = events;
  return {
    push(bytes, emit) {
      if (kind === undefined) {
        kind = bodyKind(bytes);
        if (kind === "json") {
          chosen = wholeDecoder(codec, ids);
          // The beginning of the byte order mark may have arrived before these bytes, so only its rest is removed here.
          return chosen.push(bytes.subarray(markBytes(bytes)), emit);
        }
      }
      chosen.push(bytes, emit);
    },
    end: (emit) => chosen.end(emit),
  };
}

function eventDecoder(
  decoder: Stage<SseFrame, AnswerEvent>,
): Stage<Uint8Array, AnswerEvent> {
  const parser = createSseParser({ maxFrameCharacters: MAX_FRAME_CHARACTERS });
  let sink: Emit<AnswerEvent> = () => {};
  const decode: Emit<SseFrame> = (frame) => decoder.push(frame, sink);

  /** Runs `run`. If an event is too long, ends the answer with a failure. */
  function step(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!(error instanceof FrameTooLongError)) throw error;
      sink(oversizedEvent("The provider sent an event that is too long"));
    }
  }

  return {
    push(bytes, emit) {
      sink = emit;
      step(() => parser.push(bytes, decode));
    },
    end(emit) {
      sink = emit;
      step(() =>
        parser.end((frame) => {
          const whole = wholePart(frame);
          if (whole !== undefined) decode(whole);
        })
      );
      decoder.end(emit);
    },
  };
}

/** Returns a stage that collects one JSON object and emits it as events at the end of the body. */
function wholeDecoder(
  codec: Pick<Codec, "decodeAnswer">,
  ids: Ids,
): Stage<Uint8Array, AnswerEvent> {
  const decoder = new TextDecoder();
  let text = "";
  return {
    push(bytes, emit) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length <= MAX_FRAME_CHARACTERS) return;
      text = "";
      emit(oversizedEvent("The provider sent an answer that is too long"));
    },
    end(emit) {
      const body = parseLightJson(text);
      if (body === undefined) {
        return emit(brokenEvent("The provider's answer is incomplete"));
      }
      try {
        unfoldAnswer(codec.decodeAnswer(body, ids), emit);
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        emit({ type: "failure", failure: error.failure });
      }
    },
  };
}

/** Collects a streamed body into one answer, for callers who want JSON from an upstream that streams. */
export interface BodyFold {
  /**
   * Takes the next bytes of the upstream.
   *
   * @throws {UpstreamFailure} When the body reports a failure or violates its protocol, or when `MAX_EMPTY_BYTES`
   * arrived without a part of an answer.
   */
  push(bytes: Uint8Array): void;
  /** Returns the answer after the last bytes. Throws as `push` does, and also when the body ended too early. */
  end(): Answer;
}

/** Returns an empty fold for a body that `decoder` reads. */
export function createBodyFold(
  decoder: Stage<Uint8Array, AnswerEvent>,
): BodyFold {
  const fold = createFold();
  let emptyBytes = 0;
  return {
    push(bytes) {
      emptyBytes += bytes.length;
      decoder.push(bytes, (event) => {
        emptyBytes = 0;
        fold.push(event);
      });
      if (emptyBytes > MAX_EMPTY_BYTES) throw new UpstreamFailure(EMPTY_ANSWER);
    },
    end() {
      decoder.end(fold.push);
      return fold.answer();
    },
  };
}

/**
 * Returns the complete part of a stream's last frame, if the blank line that closes a frame is missing. If the frame is
 * complete, returns the frame. If only the last line is truncated and each line before it is an event, returns those
 * lines. The truncated line is ignored, because the early end of the stream is the failure to report.
 *
 * @returns `undefined` when no part is complete.
 */
export function wholePart(frame: SseFrame): SseFrame | undefined {
  if (isHeavyJson(frame.data) || isWhole(frame.data)) return frame;
  const lines = frame.data.split("\n");
  const last = lines.pop() ?? "";
  if (lines.length === 0 || !lines.every(isWhole)) return undefined;
  return isWhole(last) ? frame : { ...frame, data: lines.join("\n") };
}

function isWhole(data: string): boolean {
  return data.trim() === "[DONE]" || parseJson(data) !== undefined;
}
