import type { SseFrame } from "../../core/frame.ts";
import type { Emit, Stage } from "../../core/stage.ts";
import type { AnswerEvent } from "./event.ts";
import { brokenAnswer } from "./failure.ts";

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

  function fail(error: unknown): void {
    // The runtime throws it for a full stack and for text that is too long.
    if (!(error instanceof RangeError)) throw error;
    guard({
      type: "failure",
      failure: brokenAnswer(
        "The provider sent an event that is nested too deep or too long",
      ),
    });
  }

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
