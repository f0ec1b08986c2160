import assert from "node:assert/strict";
import type { Answer } from "../../../../src/protocols/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";
import { UpstreamFailure } from "../../../../src/protocols/canonical/failure/failure.ts";
import {
  createFold,
  foldAnswer,
  unfoldAnswer,
} from "../../../../src/protocols/canonical/answer/fold.ts";
import { MAX_HELD_CHARACTERS } from "../../../../src/protocols/canonical/max_sizes.ts";
import { runStage } from "../../../../src/core/stage.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import { plain } from "../../../contract/codec_contract.ts";
import {
  deltaOf,
  END,
  endOf,
  failureOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";

const EVERYTHING: Answer = {
  id: "id-1",
  model: "model-1",
  createdAtMs: 1000,
  blocks: [
    {
      kind: "reasoning",
      parts: [{ form: "summary", text: "First" }, {
        form: "raw",
        text: "Second",
      }, { form: "raw", text: "" }],
      sealed: { protocol: "messages", form: "signature", value: "s" },
      providerMetadata: { responses: { id: "rs_1" } },
    },
    {
      kind: "text",
      text: "Hello",
      citations: [{ url: "https://example.com" }],
    },
    { kind: "text", text: "" },
    {
      kind: "function_call",
      id: "c1",
      name: "f",
      namespace: "n",
      arguments: "{}",
    },
    { kind: "custom_call", id: "c2", name: "g", input: "raw" },
    { kind: "refusal", text: "No" },
    {
      kind: "opaque",
      protocol: "chat",
      type: "x",
      value: { a: 1 },
      weight: "report",
    },
  ],
  stop: {
    reason: "tool_calls",
    raw: { protocol: "chat", value: "tool_calls" },
  },
  usage: { inputTokens: 3, outputTokens: 4 },
  serviceTier: { protocol: "chat", value: "default" },
  providerMetadata: { chat: { a: 1 } },
};

function unfold(answer: Answer): AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}

Deno.test("foldAnswer() undoes unfoldAnswer() for every kind of block", () => {
  assert.deepEqual(plain(foldAnswer(unfold(EVERYTHING))), plain(EVERYTHING));
});

Deno.test("unfoldAnswer() keeps the grammar", () => {
  assert.equal(
    runStage(createGrammar(), unfold(EVERYTHING)).at(-1)?.type,
    "end",
  );
});

Deno.test("a fold joins deltas of blocks that overlap, in the order of their beginning", () => {
  const answer = foldAnswer([
    START,
    startOf(0),
    startOf(1, "refusal"),
    deltaOf(1, "N"),
    deltaOf(0, "Y"),
    deltaOf(1, "o"),
    endOf(1),
    deltaOf(0, "es"),
    endOf(0),
    END,
  ]);
  assert.deepEqual(plain(answer.blocks), [{ kind: "text", text: "Yes" }, {
    kind: "refusal",
    text: "No",
  }]);
});

Deno.test("a fold throws the failure of a stream", () => {
  assert.throws(
    () => foldAnswer([START, failureOf("broke")]),
    (error) =>
      error instanceof UpstreamFailure && error.failure.message === "broke",
  );
});

Deno.test("a fold has no answer before the end", () => {
  assert.throws(() => foldAnswer([]), UpstreamFailure);
  assert.throws(() => foldAnswer([START, startOf(0)]), UpstreamFailure);
});

Deno.test("a fold fails when the answer exceeds the limits", () => {
  const fold = createFold();
  fold.push(START);
  fold.push(startOf(0));
  const half = "x".repeat(MAX_HELD_CHARACTERS / 2);
  fold.push(deltaOf(0, half));
  fold.push(deltaOf(0, half));
  assert.throws(
    () => fold.push(deltaOf(0, "x")),
    (error) =>
      error instanceof UpstreamFailure && error.failure.kind === "oversized",
  );
});

Deno.test("a fold ignores events of blocks that never began", () => {
  assert.deepEqual(foldAnswer([START, deltaOf(3, "x"), END]).blocks, []);
});
