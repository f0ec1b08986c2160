import type { AnswerEvent } from "../../../src/codecs/canonical/stream/event.ts";

/** Events of a sample answer, in short forms for tests. */
export const START: AnswerEvent = {
  type: "start",
  id: "id-1",
  model: "model-1",
};

export const END: AnswerEvent = { type: "end", stop: { reason: "end" } };

/** Returns the start of a block with nothing but its kind. */
export function startOf(
  index: number,
  kind: "text" | "reasoning" | "refusal" = "text",
): AnswerEvent {
  return { type: "block-start", index, block: { kind } };
}

/** Returns the start of a function call named `name`. */
export function callOf(
  index: number,
  name: string,
  id = `id-${name}`,
): AnswerEvent {
  return {
    type: "block-start",
    index,
    block: { kind: "function_call", id, name },
  };
}

export function deltaOf(index: number, text: string): AnswerEvent {
  return { type: "block-delta", index, text };
}

export function endOf(index: number): AnswerEvent {
  return { type: "block-end", index };
}

/** Returns a failure that a test recognises by its message. */
export function failureOf(message: string): AnswerEvent {
  return { type: "failure", failure: { kind: "broken", message } };
}
