import assert from "node:assert/strict";
import {
  fitOutputLimit,
  fitStops,
} from "../../../../src/codecs/canonical/request/fit_limits.ts";
import { dialectOf as messagesDialectOf } from "../../../../src/codecs/messages/dialect.ts";
import { dialectOf } from "../../../../src/codecs/responses/dialect.ts";

const { limits } = dialectOf({ service: "openai", model: "gpt-5.2" }).ability;

/** Runs `work` with a receiver of losses, and returns its result beside the lost fields. */
function withLosses<Result>(
  work: (
    losses: { reportDropped(field: unknown, reason: string): void },
  ) => Result,
): [Result, string[]] {
  const reasons: string[] = [];
  const result = work({ reportDropped: (_, reason) => reasons.push(reason) });
  return [result, reasons];
}

Deno.test("fitOutputLimit() raises a limit that is too low, lowers one that is too high, and reports both", () => {
  const of = (requested: number | undefined, configured?: number) =>
    withLosses((losses) =>
      fitOutputLimit(requested, limits, configured, losses)
    );
  assert.deepEqual(of(5), [16, [
    "this model accepts no limit below 16 tokens",
  ]]);
  assert.deepEqual(of(500, 100), [100, [
    "this model generates at most 100 tokens",
  ]]);
  assert.deepEqual(of(50, 100), [50, []]);
  assert.deepEqual(of(undefined, 100), [undefined, []]);
});

Deno.test("fitOutputLimit() sets a limit where the protocol demands one: the model's highest, or a usual one", () => {
  const of = (model: string, configured?: number) => {
    const { ability } = messagesDialectOf({ service: "custom", model });
    return withLosses((losses) =>
      fitOutputLimit(undefined, ability.limits, configured, losses)
    );
  };
  assert.deepEqual(of("claude-opus-4-8"), [128_000, []]);
  assert.deepEqual(of("claude-opus-4-8", 9000), [9000, []]);
  assert.deepEqual(of("some-model"), [32_000, []]);
});

Deno.test("fitStops() keeps the stop strings that the target takes, and reports the others", () => {
  const of = (stop: readonly string[], mostStops: number, blankStops = true) =>
    withLosses((losses) =>
      fitStops(stop, { ...limits, mostStops, blankStops }, losses)
    );
  assert.deepEqual(of(["a", " "], 4), [["a", " "], []]);
  assert.deepEqual(of(["a", "b", "c"], 2)[0], ["a", "b"]);
  assert.equal(of(["a", "b", "c"], 2)[1].length, 1);
  assert.deepEqual(of(["a", " "], 4, false), [["a"], [
    "this model's provider accepts no blank stop strings",
  ]]);
  assert.equal(of(["a"], 0)[0], undefined);
});
