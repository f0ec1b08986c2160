import type { SseFrame } from "../core/frame.ts";
import type { Emit, Stage } from "../core/stage.ts";
import { createSseParser, FrameTooLongError } from "../streams/sse_parse.ts";
import type { Answer } from "./canonical/answer/answer.ts";
import type { AnswerEvent } from "./canonical/stream/event.ts";
import {
  oversizedAnswer,
  UpstreamFailure,
} from "./canonical/failure/failure.ts";
import { createFold } from "./canonical/answer/fold.ts";
import { wholePart } from "./canonical/stream/last_frame.ts";
import { MAX_FRAME_CHARACTERS } from "./canonical/limits.ts";

/** Makes one answer of a stream, for callers who want JSON of an upstream that only streams. */
export interface StreamFold {
  /**
   * Takes the next bytes of the upstream.
   *
   * @throws {UpstreamFailure} When the stream reports a failure or does not keep to its protocol.
   */
  push(bytes: Uint8Array): void;
  /**
   * The answer, once the upstream's bytes are over.
   *
   * @throws {UpstreamFailure} As `push` does, and when the stream ended before the answer did.
   */
  end(): Answer;
}

/** An empty fold of a stream that `decoder` reads. */
export function createStreamFold(
  decoder: Stage<SseFrame, AnswerEvent>,
): StreamFold {
  const parser = createSseParser({ maxFrameCharacters: MAX_FRAME_CHARACTERS });
  const fold = createFold();
  const decode: Emit<SseFrame> = (frame) => decoder.push(frame, fold.push);
  return {
    push: (bytes) => typed(() => parser.push(bytes, decode)),
    end() {
      typed(() =>
        parser.end((frame) => {
          const whole = wholePart(frame);
          if (whole !== undefined) decode(whole);
        })
      );
      decoder.end(fold.push);
      return fold.answer();
    },
  };
}

function typed(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof FrameTooLongError)) throw error;
    throw new UpstreamFailure(
      oversizedAnswer("The provider sent an event that is too long"),
    );
  }
}
