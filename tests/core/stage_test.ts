import assert from "node:assert/strict";
import { pipe, runStage, type Stage } from "../../src/core/stage.ts";

/** Gives every input `times` times, and `last` at the end. */
function repeat<In>(times: number, last: In): Stage<In, In> {
  return {
    push(input, emit) {
      for (let count = 0; count < times; count++) emit(input);
    },
    end: (emit) => emit(last),
  };
}

Deno.test("runStage() returns the outputs of a stage for its inputs and their end", () => {
  assert.deepEqual(runStage(repeat(2, "end"), ["a", "b"]), [
    "a",
    "a",
    "b",
    "b",
    "end",
  ]);
});

Deno.test("pipe() passes each output on at once, and the first stage's rest before the second ends", () => {
  const stage = pipe(repeat(1, "first"), repeat(2, "second"));
  assert.deepEqual(runStage(stage, ["a"]), [
    "a",
    "a",
    "first",
    "first",
    "second",
  ]);
});

Deno.test("pipe() follows a sink that changes between inputs", () => {
  const stage = pipe(repeat(1, "-"), repeat(1, "-"));
  const one: string[] = [];
  const two: string[] = [];
  stage.push("a", (text) => one.push(text));
  stage.push("b", (text) => two.push(text));
  assert.deepEqual([one, two], [["a"], ["b"]]);
});
