/** Receives an output of a stage. */
export type Emit<Out> = (output: Out) => void;

/**
 * A synchronous step of a stream, with its own state. It takes one input at a time and calls `emit` for each output
 * before it returns. One instance serves one stream.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * // Splits its input into lines.
 * const lines: Stage<string, string> = {
 *   push: (text, emit) => text.split("\n").forEach(emit),
 *   end: (emit) => emit("(end)"),
 * };
 * assert.deepEqual(runStage(lines, ["a\nb", "c"]), ["a", "b", "c", "(end)"]);
 * ```
 */
export interface Stage<In, Out> {
  /** Takes the next input and emits its outputs. */
  push(input: In, emit: Emit<Out>): void;
  /** Emits the outputs that were held back. Called once, after the last input. */
  end(emit: Emit<Out>): void;
}

/** Combines two stages into one. */
export function pipe<In, Middle, Out>(
  first: Stage<In, Middle>,
  second: Stage<Middle, Out>,
): Stage<In, Out> {
  let sink: Emit<Out> = () => {};
  const forward = (middle: Middle) => second.push(middle, sink);
  return {
    push(input, emit) {
      sink = emit;
      first.push(input, forward);
    },
    end(emit) {
      sink = emit;
      first.end(forward);
      second.end(emit);
    },
  };
}

/** Returns all outputs of `stage` for `inputs` and their end. The stage cannot be used again. */
export function runStage<In, Out>(
  stage: Stage<In, Out>,
  inputs: Iterable<In>,
): Out[] {
  const outputs: Out[] = [];
  const emit = (output: Out) => {
    outputs.push(output);
  };
  for (const input of inputs) stage.push(input, emit);
  stage.end(emit);
  return outputs;
}
