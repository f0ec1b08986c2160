import assert from "node:assert/strict";
import type { Ask, Turn } from "../../src/demo/ask.ts";
import { createTurn } from "../support/upstream/strict_provider/turn.ts";
import { compose, estimateTokens } from "../../src/demo/answers.ts";

function askOf(
  turns: readonly (Turn | string)[],
  fields: Partial<Ask> = {},
): Ask {
  return {
    family: "B",
    protocol: "messages",
    model: "demo-b",
    isStream: false,
    turns: turns.map((turn) =>
      typeof turn === "string" ? createTurn("user", { texts: [turn] }) : turn
    ),
    tools: [],
    toolChoice: { mode: "auto", names: undefined },
    mayCallInParallel: true,
    reasoning: "none",
    maxOutputTokens: undefined,
    stopSequences: [],
    format: undefined,
    isCompaction: false,
    ...fields,
  };
}

function textOf(ask: Ask): string {
  return compose(ask).blocks.map((block) =>
    block.kind === "text" ? block.text : ""
  ).join("");
}

Deno.test("compose() quotes the question and names the model", () => {
  assert.equal(
    textOf(askOf(["What?"])),
    'You said: "What?". This is demo-b of the simulated family B, answering over Messages; no real model was asked.',
  );
});

Deno.test("compose() quotes the last text that is not blank, and not all of a long one", () => {
  const turn = createTurn("user", {
    texts: ["reminder", "x".repeat(900), " "],
  });
  const quoted = textOf(askOf(["before", turn])).match(/"(x+)…"/)?.[1];
  assert.equal(quoted?.length, 400);
});

Deno.test("compose() allows the actions that Claude Code's auto mode checks", () => {
  const question =
    "<transcript>\nBash ls\n</transcript>\n\nYour ENTIRE response MUST begin with <block>.";
  assert.equal(textOf(askOf([question])), "<block>no</block>");
});

Deno.test("compose() answers an empty conversation", () => {
  assert.match(textOf(askOf([createTurn("user", {})])), /^You said nothing\./);
});

Deno.test("compose() writes the requested number of words", () => {
  const text = textOf(askOf(["Write 1000 words about rain"]));
  assert.equal(text.split(" ").length, 1000);
  assert.equal(textOf(askOf(["Write 999999 words"])).split(" ").length, 20_000);
});

Deno.test("compose() quotes every result of a tool by the tool's name", () => {
  const text = textOf(askOf([
    "Use both",
    createTurn("assistant", {
      calls: [{ id: "1", name: "get_a" }, { id: "2", name: "get_b" }],
    }),
    createTurn("tool", { callId: "1", texts: ["one"] }),
    createTurn("tool", { callId: "2", texts: [] }),
  ]));
  assert.match(
    text,
    /^The tool get_a returned: one\. The tool get_b returned: nothing\. /,
  );
});

Deno.test("compose() reasons before its answer on request", () => {
  const [reasoning, text] =
    compose(askOf(["Hm?"], { reasoning: "hidden" })).blocks;
  assert.equal(reasoning?.kind, "reasoning");
  assert(reasoning?.kind === "reasoning" && !reasoning.isShown);
  assert.equal(text?.kind, "text");
});

Deno.test("compose() counts tokens from the real lengths", () => {
  const history = [
    "one two three four",
    createTurn("assistant", { texts: ["five six"] }),
    createTurn("user", { texts: ["seven"], attachmentCount: 1 }),
  ];
  const ask = askOf(history, { reasoning: "shown" });
  const { blocks, usage } = compose(ask);
  const outputs = blocks.map((block) =>
    estimateTokens(block.kind === "call" ? block.input : block.text)
  );
  assert.deepEqual(usage, {
    inputTokens: (3 + 5) + (3 + 2) + (3 + 2 + 256),
    cachedInputTokens: 3 + 5,
    outputTokens: outputs.reduce((total, tokens) => total + tokens, 0),
    reasoningTokens: outputs[0],
  });
});

Deno.test("compose() ends at the limit, with exactly so many tokens", async (t) => {
  for (const limit of [1, 2, 12, 25]) {
    await t.step(`${limit}`, () => {
      const { stop, usage } = compose(
        askOf(["Hm?"], { reasoning: "shown", maxOutputTokens: limit }),
      );
      assert.equal(stop.reason, "max_tokens");
      assert.equal(usage.outputTokens, limit);
    });
  }
});

Deno.test("compose() does not cut a character in two", () => {
  const { blocks } = compose(
    askOf(["🙂🙂🙂🙂🙂"], { maxOutputTokens: 4 }),
  );
  const [block] = blocks;
  assert(block?.kind === "text" && block.text.isWellFormed());
});

Deno.test("compose() leaves out a call that does not fit", () => {
  const tool = {
    kind: "function" as const,
    name: "get_weather",
    namespace: undefined,
    description: "",
    schema: { properties: { city: {} } },
  };
  const fields = { tools: [tool], maxOutputTokens: 3 };
  const { blocks, stop } = compose(askOf(["get_weather"], fields));
  assert.deepEqual(blocks, []);
  assert.equal(stop.reason, "max_tokens");
});

Deno.test("compose() ends before the first of the stop sequences", () => {
  const { blocks, stop } = compose(
    askOf(["Hm?"], { stopSequences: ["", "family", "said"] }),
  );
  assert.deepEqual(blocks, [{ kind: "text", text: "You " }]);
  assert.deepEqual(stop, { reason: "stop_sequence", sequence: "said" });
  const atOnce = compose(askOf(["Hm?"], { stopSequences: ["You"] }));
  assert.deepEqual(atOnce.blocks, []);
});

Deno.test("compose() folds a conversation into one block for a compaction", () => {
  const { blocks } = compose(askOf(["one", "two"], { isCompaction: true }));
  assert.equal(blocks.length, 1);
  assert(blocks[0]?.kind === "compaction");
  assert.match(blocks[0].text, /2 turns, 2 of the user\. Last asked: "two"/);
});
