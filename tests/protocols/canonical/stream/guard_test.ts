import assert from "node:assert/strict";
import type { SseFrame } from "../../../../src/core/frame.ts";
import { runStage, type Stage } from "../../../../src/core/stage.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";
import { UpstreamFailure } from "../../../../src/protocols/canonical/failure/failure.ts";
import {
  guardAnswer,
  guardDecoder,
} from "../../../../src/protocols/canonical/stream/guard.ts";
import { END, failureOf, START } from "../../../support/wire/events.ts";

/** Returns the value of `byData` for the data of an event, or throws it when it is an error. */
function decoderOf(
  byData: Record<string, AnswerEvent[] | Error>,
): Stage<SseFrame, AnswerEvent> {
  const run = (key: string, emit: (event: AnswerEvent) => void) => {
    const found = byData[key] ?? [];
    if (found instanceof Error) throw found;
    found.forEach(emit);
  };
  return guardDecoder({
    push: ({ data }, emit) => run(data, emit),
    end: (emit) => run("eof", emit),
  });
}

Deno.test("a guarded decoder emits nothing after a terminal event", () => {
  const decoder = decoderOf({
    a: [START, failureOf("x"), END],
    b: [START],
    eof: [END],
  });
  assert.deepEqual(runStage(decoder, [{ data: "a" }, { data: "b" }]), [
    START,
    failureOf("x"),
  ]);
});

Deno.test("a guarded decoder turns a full stack into a failure of the answer", () => {
  const byFrame = runStage(
    decoderOf({ a: [START], b: new RangeError("stack") }),
    [{ data: "a" }, { data: "b" }],
  );
  assert.deepEqual(byFrame.map(({ type }) => type), ["start", "failure"]);
  const atEnd = runStage(decoderOf({ eof: new RangeError("stack") }), []);
  assert.deepEqual(atEnd.map(({ type }) => type), ["failure"]);
});

Deno.test("a guarded decoder forwards bugs", () => {
  assert.throws(
    () => runStage(decoderOf({ a: new TypeError("bug") }), [{ data: "a" }]),
    TypeError,
  );
});

Deno.test("guardAnswer() forwards failures and bugs, and converts a full stack", () => {
  const thrower = (error: Error) => () => {
    throw error;
  };
  assert.equal(guardAnswer(() => 7), 7);
  assert.throws(
    () => guardAnswer(thrower(new RangeError("stack"))),
    UpstreamFailure,
  );
  assert.throws(
    () =>
      guardAnswer(
        thrower(new UpstreamFailure({ kind: "quota", message: "m" })),
      ),
    (error) =>
      error instanceof UpstreamFailure && error.failure.kind === "quota",
  );
  assert.throws(() => guardAnswer(thrower(new TypeError("bug"))), TypeError);
});
