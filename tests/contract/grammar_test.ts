import assert from "node:assert/strict";
import { runStage } from "../../src/base/stage.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  failureOf,
  START,
  startOf,
} from "../support/wire/events.ts";
import { steps } from "../support/steps.ts";
import { createGrammar, GrammarError } from "./grammar.ts";

const SEAL: AnswerEvent = {
  type: "block-seal",
  index: 0,
  sealed: { protocol: "chat", form: "x", value: "y" },
};
const PART: AnswerEvent = { type: "block-part", index: 0, form: "raw" };
const DELTA = deltaOf(0, "a");
const REASONING = startOf(0, "reasoning");
const CITATION: AnswerEvent = {
  type: "block-citation",
  index: 0,
  citation: {},
};
const OPAQUE: AnswerEvent = {
  type: "block-start",
  index: 0,
  block: {
    kind: "opaque",
    protocol: "chat",
    type: "x",
    value: 1,
    weight: "report",
  },
};

Deno.test("the grammar accepts valid streams", async (t) => {
  const streams: Record<string, AnswerEvent[]> = {
    "nothing but start and end": [START, END],
    "a failure alone": [failureOf("x")],
    "a failure inside a block": [START, startOf(0), DELTA, failureOf("x")],
    "overlapping blocks": [
      START,
      startOf(0),
      callOf(1, "f"),
      DELTA,
      endOf(0),
      endOf(1),
      END,
    ],
    "reasoning": [START, REASONING, PART, DELTA, SEAL, endOf(0), END],
  };
  await steps(t, Object.entries(streams), ([, events]) => {
    assert.deepEqual(runStage(createGrammar(), events), events);
  });
});

Deno.test("the grammar rejects", async (t) => {
  const streams: Record<string, AnswerEvent[]> = {
    "anything before start": [startOf(0)],
    "a second start": [START, START],
    "an event after the end": [START, END, START],
    "an event after a failure": [failureOf("x"), failureOf("y")],
    "an index that is not the next": [START, startOf(1)],
    "an index that comes again": [START, startOf(0), endOf(0), startOf(0)],
    "a delta of a block that is not open": [START, DELTA],
    "a block that ends twice": [START, startOf(0), endOf(0), endOf(0)],
    "an end while a block is open": [START, startOf(0), END],
    "an empty delta": [START, startOf(0), deltaOf(0, "")],
    "a delta of an opaque block": [START, OPAQUE, DELTA],
    "reasoning without a part": [START, REASONING, DELTA],
    "a part of a text": [START, startOf(0), PART],
    "a seal of a text": [START, startOf(0), SEAL],
    "a second seal": [START, REASONING, SEAL, SEAL],
    "a citation of a call": [START, callOf(0, "f"), CITATION],
  };
  // The last event itself is rejected, not only the missing end.
  await steps(t, Object.entries(streams), ([, events]) => {
    const grammar = createGrammar();
    const push = (event: AnswerEvent) => grammar.push(event, () => {});
    events.slice(0, -1).forEach(push);
    const [last = START] = events.slice(-1);
    assert.throws(() => push(last), GrammarError);
  });
});

Deno.test("the grammar rejects a stream that ends without its last event", () => {
  assert.throws(() => runStage(createGrammar(), [START]), GrammarError);
});
