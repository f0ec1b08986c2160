import assert from "node:assert/strict";
import { Paragraphs } from "../../../../src/codecs/canonical/answer/readable.ts";
import {
  budgetOfEffort,
  effortOf,
  isEffort,
  MIN_BUDGET_TOKENS,
} from "../../../../src/codecs/canonical/request/effort.ts";
import {
  type Answer,
  laterUsage,
  settleStop,
  type StopReason,
  type Usage,
} from "../../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import {
  createFold,
  foldAnswer,
  unfoldAnswer,
} from "../../../../src/codecs/canonical/answer/fold.ts";
import { MAX_HELD_CHARACTERS } from "../../../../src/codecs/canonical/max_sizes.ts";
import { runStage } from "../../../../src/base/stage.ts";
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
import { cutAtStops } from "../../../../src/codecs/canonical/answer/stop_strings.ts";

Deno.test("Paragraphs joins consecutive texts without a break", () => {
  const paragraphs = new Paragraphs();
  assert.equal(paragraphs.join("one"), "one");
  assert.equal(paragraphs.join(" two"), " two");
});

Deno.test("Paragraphs puts one break before a text that starts a part", () => {
  const paragraphs = new Paragraphs();
  paragraphs.join("one");
  paragraphs.part();
  paragraphs.part();
  assert.equal(paragraphs.join("two"), "\n\ntwo");
  assert.equal(paragraphs.join(" more"), " more");
});

Deno.test("Paragraphs puts no break before the first text", () => {
  const paragraphs = new Paragraphs();
  paragraphs.part();
  assert.equal(paragraphs.join("one"), "one");
});

Deno.test("budgetOfEffort() returns a share of the output limit, and at least the upstreams' minimum", () => {
  assert.equal(budgetOfEffort("low", 32_000), 3200);
  assert.equal(budgetOfEffort("high", 32_000), 19_200);
  assert.equal(budgetOfEffort("max", 32_000), 28_800);
  assert.equal(budgetOfEffort("minimal", 100), MIN_BUDGET_TOKENS);
});

Deno.test("effortOf() returns the requested effort, or else an effort that grows with the budget", () => {
  const budgets = [1024, 4096, 10_000, 31_999, 64_000];
  assert.deepEqual(
    budgets.map((budgetTokens) => effortOf({ budgetTokens })),
    ["low", "low", "medium", "high", "xhigh"],
  );
  assert.equal(effortOf({ effort: "max", budgetTokens: 1024 }), "max");
  assert.equal(effortOf({}), undefined);
});

Deno.test("isEffort() accepts only the effort words", () => {
  assert.equal(isEffort("xhigh"), true);
  for (const word of ["none", "ultra", "toString", 7, null]) {
    assert.equal(isEffort(word), false);
  }
});

function settled(reason: StopReason, hasToolCalls: boolean): StopReason {
  return settleStop({ reason }, { hasCalls: hasToolCalls }).reason;
}

Deno.test("settleStop() changes a plain end to `tool_calls` when there are calls, but not a limit or a filter", () => {
  assert.equal(settled("end", true), "tool_calls");
  assert.equal(settled("other", true), "tool_calls");
  assert.equal(settled("max_tokens", true), "max_tokens");
  assert.equal(settled("filtered", true), "filtered");
  assert.equal(settled("stop_sequence", true), "stop_sequence");
});

Deno.test("settleStop() changes `tool_calls` to `end` when there is no call", () => {
  assert.equal(settled("tool_calls", false), "end");
  assert.equal(settled("max_tokens", false), "max_tokens");
});

Deno.test("settleStop() keeps the upstream's original stop reason beside a changed one", () => {
  const raw = { protocol: "chat", value: "stop" } as const;
  assert.deepEqual(settleStop({ reason: "end", raw }, { hasCalls: true }), {
    reason: "tool_calls",
    raw,
  });
});

const COUNTED: Usage = {
  inputTokens: 10,
  cachedInputTokens: 4,
  outputTokens: 7,
  reasoningTokens: 3,
  others: [{ model: "m", usage: { inputTokens: 1, outputTokens: 2 } }],
};

Deno.test("laterUsage() does not replace a count by zero", () => {
  const zeros: Usage = {
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
  };
  assert.deepEqual(laterUsage(COUNTED, zeros), {
    ...COUNTED,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    speed: undefined,
    serviceTier: undefined,
    inferenceGeo: undefined,
  });
  assert.equal(laterUsage(COUNTED, undefined), COUNTED);
  assert.equal(laterUsage(undefined, zeros), zeros);
});

Deno.test("laterUsage() replaces each count by a later one", () => {
  const later: Usage = { inputTokens: 11, outputTokens: 9, others: [] };
  assert.deepEqual(laterUsage(COUNTED, later), {
    inputTokens: 11,
    cachedInputTokens: 4,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    speed: undefined,
    serviceTier: undefined,
    inferenceGeo: undefined,
    outputTokens: 9,
    reasoningTokens: 3,
    others: [],
  });
});

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

Deno.test("unfoldAnswer() emits events in the order of the grammar", () => {
  assert.equal(
    runStage(createGrammar(), unfold(EVERYTHING)).at(-1)?.type,
    "end",
  );
});

Deno.test("a fold joins the deltas of overlapping blocks, and keeps the order of their starts", () => {
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

Deno.test("a fold throws when there was no end event", () => {
  assert.throws(() => foldAnswer([]), UpstreamFailure);
  assert.throws(() => foldAnswer([START, startOf(0)]), UpstreamFailure);
});

Deno.test("a fold throws when the answer exceeds the limits", () => {
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

Deno.test("a fold ignores events of blocks that have not begun", () => {
  assert.deepEqual(foldAnswer([START, deltaOf(3, "x"), END]).blocks, []);
});

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

Deno.test("cutAtStops() ends the text before a stop string, however the text is split", () => {
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

Deno.test("cutAtStops() keeps reasoning and calls before the cut, and drops all blocks after it", () => {
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
  assert.equal(call?.kind === "function_call" && call.arguments, '{"a":"END"}');
  assert.equal(answer.stop.reason, "tool_calls");
});

Deno.test("cutAtStops() ignores an upstream's failure after the cut, and forwards a failure before the cut", () => {
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

Deno.test("cutAtStops() works with any number of stop strings", () => {
  const many = Array.from({ length: 300_000 }, (_, index) => `#${index}#`);
  const answer = cut([...many, "END"], textEvents(["One. E", "ND Two."]));
  assert.equal(textOf(answer), "One. ");
});
