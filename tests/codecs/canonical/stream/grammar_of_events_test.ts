import assert from "node:assert/strict";
import {
  type AnswerEvent,
  isOutput,
} from "../../../../src/codecs/canonical/stream/event.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  failureOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";
import type { SseFrame } from "../../../../src/base/frame.ts";
import { runStage, type Stage } from "../../../../src/base/stage.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import {
  guardAnswer,
  guardDecoder,
} from "../../../../src/codecs/canonical/stream/guard.ts";
import type { StreamEncoder } from "../../../../src/codecs/canonical/codec.ts";
import { MAX_HELD_CHARACTERS } from "../../../../src/codecs/canonical/max_sizes.ts";
import {
  createSequence,
  sequenced,
} from "../../../../src/codecs/canonical/stream/sequence.ts";

Deno.test("isOutput() returns true for events with output for the caller", () => {
  for (const event of [deltaOf(0, "a"), callOf(0, "f"), END]) {
    assert.equal(isOutput(event), true, event.type);
  }
  for (
    const event of [
      START,
      startOf(0),
      startOf(0, "reasoning"),
      endOf(0),
      failureOf("x"),
    ]
  ) {
    assert.equal(isOutput(event), false, event.type);
  }
});

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

Deno.test("a guarded decoder ends the answer with a failure when the stack is full", () => {
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

Deno.test("guardAnswer() forwards failures and bugs, and converts a full stack to a failure", () => {
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

function sequence(events: readonly AnswerEvent[]): AnswerEvent[] {
  return runStage(createSequence(), events);
}

Deno.test("a sequence forwards blocks unchanged if they do not overlap", () => {
  const events = [
    START,
    startOf(0),
    deltaOf(0, "a"),
    endOf(0),
    callOf(1, "f"),
    deltaOf(1, "{}"),
    endOf(1),
    END,
  ];
  assert.deepEqual(sequence(events), events);
});

Deno.test("a sequence streams the oldest open block, and holds later blocks until it has ended", () => {
  const stage = createSequence();
  const seen: AnswerEvent[] = [];
  const push = (event: AnswerEvent) =>
    stage.push(event, (one) => seen.push(one));
  [
    START,
    callOf(0, "f"),
    callOf(1, "g"),
    deltaOf(1, "1"),
    deltaOf(0, "a"),
    deltaOf(1, "2"),
  ].forEach(push);
  assert.deepEqual(seen, [START, callOf(0, "f"), deltaOf(0, "a")]);
  push(endOf(0));
  assert.deepEqual(seen.slice(3), [endOf(0), callOf(1, "g"), deltaOf(1, "12")]);
  push(deltaOf(1, "3"));
  assert.deepEqual(seen.at(-1), deltaOf(1, "3"));
});

Deno.test("a sequence releases complete blocks in order, and streams the first open one", () => {
  const events = sequence([
    START,
    callOf(0, "f"),
    callOf(1, "g"),
    callOf(2, "h"),
    deltaOf(1, "g"),
    endOf(1),
    deltaOf(2, "h"),
    endOf(0),
    endOf(2),
    END,
  ]);
  assert.deepEqual(events, [
    START,
    callOf(0, "f"),
    endOf(0),
    callOf(1, "g"),
    deltaOf(1, "g"),
    endOf(1),
    callOf(2, "h"),
    deltaOf(2, "h"),
    endOf(2),
    END,
  ]);
});

Deno.test("a sequence holds parts, citations and seals in their order", () => {
  const held: AnswerEvent[] = [
    { type: "block-part", index: 1, form: "raw" },
    deltaOf(1, "a"),
    {
      type: "block-seal",
      index: 1,
      sealed: { protocol: "chat", form: "x", value: "y" },
    },
    endOf(1),
  ];
  const events = sequence([
    START,
    callOf(0, "f"),
    startOf(1, "reasoning"),
    ...held,
    endOf(0),
    END,
  ]);
  assert.deepEqual(events.slice(2), [
    endOf(0),
    startOf(1, "reasoning"),
    ...held,
    END,
  ]);
});

Deno.test("a sequence forwards a failure at once", () => {
  assert.deepEqual(
    sequence([START, callOf(0, "f"), callOf(1, "g"), failureOf("x")]).at(-1),
    failureOf("x"),
  );
});

Deno.test("a sequence throws a failure when it would hold too much, and then forwards a failure event", () => {
  const large = deltaOf(1, "x".repeat(MAX_HELD_CHARACTERS / 2 + 1));
  const stage = createSequence();
  const given: AnswerEvent[] = [];
  const push = (event: AnswerEvent) =>
    stage.push(event, (one) => given.push(one));
  for (const event of [START, callOf(0, "f"), callOf(1, "g"), large]) {
    push(event);
  }
  assert.throws(() => push(large), (error) => {
    assert.ok(error instanceof UpstreamFailure);
    assert.equal(error.failure.kind, "oversized");
    return true;
  });
  push(failureOf("too long"));
  assert.deepEqual(given, [START, callOf(0, "f"), failureOf("too long")]);
});

Deno.test("sequenced() passes one block at a time to an encoder, and keeps the encoder's keep-alive", () => {
  const pushed: AnswerEvent[] = [];
  const encoder: StreamEncoder = {
    push: (event) => pushed.push(event),
    end: (emit) => emit({ data: "over" }),
    keepAlive: (emit) => emit({ comment: "alive" }),
  };
  const stage = sequenced(encoder);
  const frames = runStage<AnswerEvent, SseFrame>(stage, [
    START,
    callOf(0, "f"),
    callOf(1, "g"),
    endOf(0),
    endOf(1),
  ]);
  assert.deepEqual(pushed, [
    START,
    callOf(0, "f"),
    endOf(0),
    callOf(1, "g"),
    endOf(1),
  ]);
  assert.deepEqual(frames, [{ data: "over" }]);
  stage.keepAlive((frame) => assert.deepEqual(frame, { comment: "alive" }));
});
