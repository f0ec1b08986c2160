import assert from "node:assert/strict";
import { runStage } from "../../../../src/core/stage.ts";
import type { Answer } from "../../../../src/protocols/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";
import { foldAnswer } from "../../../../src/protocols/canonical/answer/fold.ts";
import {
  cutAnswer,
  cutAtStops,
} from "../../../../src/protocols/canonical/answer/stop_strings.ts";

const USAGE = { inputTokens: 5, outputTokens: 9 };

/** Returns the events of an answer with one text in these chunks. */
function textEvents(pieces: readonly string[]): AnswerEvent[] {
  return [
    { type: "start", id: "1", model: "m" },
    { type: "block-start", index: 0, block: { kind: "text" } },
    ...pieces.filter((text) => text !== "").map((text): AnswerEvent => ({
      type: "block-delta",
      index: 0,
      text,
    })),
    { type: "block-end", index: 0 },
    { type: "end", stop: { reason: "end" }, usage: USAGE },
  ];
}

function cut(stops: readonly string[], events: readonly AnswerEvent[]) {
  return foldAnswer(runStage(cutAtStops(stops), events));
}

function textOf({ blocks }: Answer): string {
  return blocks.map((block) => block.kind === "text" ? block.text : "").join();
}

/** Yields every way to split a text into three chunks. */
function* pieces(text: string): Generator<string[]> {
  for (let one = 0; one <= text.length; one++) {
    for (let two = one; two <= text.length; two++) {
      yield [text.slice(0, one), text.slice(one, two), text.slice(two)];
    }
  }
}

Deno.test("cutAtStops() ends the text before a stop string, in any pieces", () => {
  const cases: [text: string, stops: string[], said: string, met: string][] = [
    ["One. END Two.", ["END"], "One. ", "END"],
    ["aaEaENaEND!", ["END"], "aaEaENa", "END"],
    ["ENDing", ["END"], "", "END"],
    ["One\n\nTwo", ["\n\n", "\n"], "One", "\n"],
    ["xabcd", ["abcd", "c"], "xab", "c"],
    ["xabc", ["bc", "abc"], "x", "abc"],
    ["Grüße 🙂 Ende", ["🙂"], "Grüße ", "🙂"],
  ];
  for (const [text, stops, said, met] of cases) {
    for (const parts of pieces(text)) {
      const answer = cut(stops, textEvents(parts));
      assert.equal(textOf(answer), said, JSON.stringify(parts));
      assert.deepEqual(answer.stop, { reason: "stop_sequence", sequence: met });
      assert.deepEqual(answer.usage, USAGE);
    }
  }
});

Deno.test("cutAtStops() does not change a text without a stop string", () => {
  for (const text of ["EN", "E N D", "", "ENENDX".replace("END", "E")]) {
    for (const parts of pieces(text)) {
      const answer = cut(["END"], textEvents(parts));
      assert.equal(textOf(answer), text);
      assert.deepEqual(answer.stop, { reason: "end" });
    }
  }
});

Deno.test("cutAtStops() emits text as soon as it cannot begin a stop string", () => {
  const stage = cutAtStops(["END"]);
  const given: string[] = [];
  for (const event of textEvents(["Hello", " there", "EN"]).slice(0, -2)) {
    stage.push(event, (one) => {
      if (one.type === "block-delta") given.push(one.text);
    });
  }
  assert.deepEqual(given, ["Hel", "lo the", "re"]);
});

Deno.test("cutAtStops() keeps reasoning and calls before the text, and drops what follows the cut", () => {
  const events: AnswerEvent[] = [
    { type: "start", id: "1", model: "m" },
    { type: "block-start", index: 0, block: { kind: "reasoning" } },
    { type: "block-part", index: 0, form: "summary" },
    { type: "block-delta", index: 0, text: "I must not say END" },
    { type: "block-end", index: 0 },
    { type: "block-start", index: 1, block: { kind: "text" } },
    { type: "block-delta", index: 1, text: "Yes END no" },
    {
      type: "block-citation",
      index: 1,
      citation: { url: "https://a.example" },
    },
    { type: "block-end", index: 1 },
    {
      type: "block-start",
      index: 2,
      block: { kind: "function_call", id: "a", name: "f" },
    },
    { type: "block-delta", index: 2, text: "{}" },
    { type: "block-end", index: 2 },
    { type: "end", stop: { reason: "tool_calls" }, usage: USAGE },
  ];
  const answer = cut(["END"], events);
  assert.deepEqual(answer.blocks.map(({ kind }) => kind), [
    "reasoning",
    "text",
  ]);
  assert.equal(answer.stop.reason, "stop_sequence");
  assert.deepEqual(answer.usage, USAGE);
});

Deno.test("cutAtStops() ends with tool_calls when calls were emitted before the cut", () => {
  const events: AnswerEvent[] = [
    { type: "start", id: "1", model: "m" },
    {
      type: "block-start",
      index: 0,
      block: { kind: "function_call", id: "a", name: "f" },
    },
    { type: "block-delta", index: 0, text: '{"a":"END"}' },
    { type: "block-end", index: 0 },
    { type: "block-start", index: 1, block: { kind: "text" } },
    { type: "block-delta", index: 1, text: "END" },
    { type: "block-end", index: 1 },
    { type: "end", stop: { reason: "end" } },
  ];
  const answer = cut(["END"], events);
  const [call] = answer.blocks;
  assert.equal(
    call?.kind === "function_call" && call.arguments,
    '{"a":"END"}',
  );
  assert.equal(answer.stop.reason, "tool_calls");
});

Deno.test("cutAtStops() ends regularly when the upstream breaks off after the cut, and fails before it", () => {
  const failure: AnswerEvent = {
    type: "failure",
    failure: { kind: "broken", status: 502, message: "gone" },
  };
  const broken = (text: string) => [...textEvents([text]).slice(0, 3), failure];
  const answer = cut(["END"], broken("One END"));
  assert.equal(textOf(answer), "One ");
  assert.equal(answer.stop.reason, "stop_sequence");
  assert.throws(() => cut(["END"], broken("One EN")), /gone/);
});

Deno.test("cutAnswer() does the same to a whole answer", () => {
  const answer: Answer = {
    id: "1",
    model: "m",
    blocks: [{ kind: "text", text: "One END" }, { kind: "text", text: "Two" }],
    stop: { reason: "max_tokens" },
    usage: USAGE,
  };
  const made = cutAnswer(answer, ["END"]);
  assert.equal(textOf(made), "One ");
  assert.deepEqual(made.stop, { reason: "stop_sequence", sequence: "END" });
  assert.deepEqual(made.usage, USAGE);
  assert.equal(cutAnswer(answer, []), answer);
  assert.equal(textOf(cutAnswer(answer, ["Three"])), "One END,Two");
});

Deno.test("cutAtStops() works with any number of stop strings", () => {
  const many = Array.from({ length: 300_000 }, (_, index) => `#${index}#`);
  const answer = cut([...many, "END"], textEvents(["One. E", "ND Two."]));
  assert.equal(textOf(answer), "One. ");
});
