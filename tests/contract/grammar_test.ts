import assert from "node:assert/strict";
import { runStage } from "../../src/core/stage.ts";
import type { AnswerEvent } from "../../src/protocols/canonical/stream/event.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  failureOf,
  START,
  startOf,
} from "../support/wire/events.ts";
import { createGrammar, GrammarError } from "./grammar.ts";

const SEAL: AnswerEvent = {
  type: "block-seal",
  index: 0,
  sealed: { protocol: "chat", form: "x", value: "y" },
};
const PART: AnswerEvent = { type: "block-part", index: 0, form: "raw" };
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
    "a failure inside a block": [
      START,
      startOf(0),
      deltaOf(0, "a"),
      failureOf("x"),
    ],
    "overlapping blocks": [
      START,
      startOf(0),
      callOf(1, "f"),
      deltaOf(0, "a"),
      endOf(0),
      endOf(1),
      END,
    ],
    "reasoning": [
      START,
      startOf(0, "reasoning"),
      PART,
      deltaOf(0, "a"),
      SEAL,
      endOf(0),
      END,
    ],
  };
  for (const [name, events] of Object.entries(streams)) {
    await t.step(
      name,
      () => assert.deepEqual(runStage(createGrammar(), events), events),
    );
  }
});

Deno.test("the grammar rejects", async (t) => {
  const streams: Record<string, AnswerEvent[]> = {
    "an end that never comes": [START],
    "anything before start": [startOf(0)],
    "a second start": [START, START],
    "an event after the end": [START, END, START],
    "an event after a failure": [failureOf("x"), failureOf("y")],
    "an index that is not the next": [START, startOf(1)],
    "an index that comes again": [START, startOf(0), endOf(0), startOf(0)],
    "a delta of a block that is not open": [START, deltaOf(0, "a")],
    "a block that ends twice": [START, startOf(0), endOf(0), endOf(0)],
    "an end while a block is open": [START, startOf(0), END],
    "an empty delta": [START, startOf(0), deltaOf(0, "")],
    "a delta of an opaque block": [START, OPAQUE, deltaOf(0, "a")],
    "reasoning without a part": [
      START,
      startOf(0, "reasoning"),
      deltaOf(0, "a"),
    ],
    "a part of a text": [START, startOf(0), PART],
    "a seal of a text": [START, startOf(0), SEAL],
    "a second seal": [START, startOf(0, "reasoning"), SEAL, SEAL],
    "a citation of a call": [START, callOf(0, "f"), {
      type: "block-citation",
      index: 0,
      citation: {},
    }],
  };
  for (const [name, events] of Object.entries(streams)) {
    await t.step(
      name,
      () =>
        assert.throws(() => runStage(createGrammar(), events), GrammarError),
    );
  }
});
