import type { SseFrame } from "../../../core/frame.ts";
import type { Emit, Stage } from "../../../core/stage.ts";
import type { AnswerEvent } from "./event.ts";
import {
  brokenAnswer,
  type Failure,
  UpstreamFailure,
} from "../failure/failure.ts";

/**
 * Keeps two promises of a stream decoder for it: nothing comes after a terminal event, and what is nested or
 * grown beyond the runtime's own bounds is the answer's failure.
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

/**
 * Runs the decoder of a whole answer and keeps the second promise for it.
 *
 * @throws {UpstreamFailure} What `decode` throws, or in place of the runtime's bounds.
 */
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
 * The runtime throws a `RangeError` for a full stack and for text that is too long; anything else is a mistake here.
 */
function failureOf(error: unknown): Failure {
  if (!(error instanceof RangeError)) throw error;
  return brokenAnswer("The provider's answer is nested too deep or too long");
}
