import type { SseFrame } from "@gateway/base/frame";
import type { Emit, Stage } from "@gateway/base/stage";
import type { AnswerEvent } from "./event.ts";
import {
  brokenAnswer,
  type Failure,
  UpstreamFailure,
} from "../failure/failure.ts";

/**
 * Wraps a stream decoder with two guarantees. No event follows a terminal event. An answer that exceeds the runtime's
 * limits for nesting or length ends with a failure.
 */
export function guardDecoder(
  decoder: Stage<SseFrame, AnswerEvent>,
): Stage<SseFrame, AnswerEvent> {
  let sink: Emit<AnswerEvent> = () => {};
  let isOver = false;
  const guard: Emit<AnswerEvent> = (event) => {
    if (isOver) return;
    isOver = event.type === "end" || event.type === "failure";
    sink(event);
  };

  const fail = (error: unknown) =>
    guard({ type: "failure", failure: failureOf(error) });

  return {
    push(frame, emit) {
      if (isOver) return;
      sink = emit;
      try {
        decoder.push(frame, guard);
      } catch (error) {
        fail(error);
      }
    },
    end(emit) {
      if (isOver) return;
      sink = emit;
      try {
        decoder.end(guard);
      } catch (error) {
        fail(error);
      }
    },
  };
}

/** Decodes a whole answer. Throws an {@linkcode UpstreamFailure} if the answer is nested too deeply or too long. */
export function guardAnswer<Decoded>(decode: () => Decoded): Decoded {
  try {
    return decode();
  } catch (error) {
    throw error instanceof UpstreamFailure
      ? error
      : new UpstreamFailure(failureOf(error));
  }
}

/**
 * Returns the failure for a `RangeError`. The runtime throws this error for a full stack and for text that is too long.
 * Any other error is a bug and is thrown again.
 */
function failureOf(error: unknown): Failure {
  if (!(error instanceof RangeError)) throw error;
  return brokenAnswer("The provider's answer is nested too deeply or too long");
}
