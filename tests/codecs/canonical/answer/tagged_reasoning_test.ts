import assert from "node:assert/strict";
import { runStage } from "../../../../src/base/stage.ts";
import { foldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { readTaggedReasoning } from "../../../../src/codecs/canonical/answer/tagged_reasoning.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { writesTags } from "../../../../src/codecs/dialects/thinking_models.ts";
import { chatCodec } from "../../../../src/codecs/chat/mod.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import { counterIds } from "../../../contract/codec_contract.ts";
import { steps } from "../../../support/steps.ts";

/** The texts of an answer, by kind: reasoning, text, calls. */
type Shown = readonly (readonly [kind: string, text: string])[];

const CASES: readonly (readonly [name: string, text: string, shown: Shown])[] =
  [
    ["a tag and a text", "<think>Two and two</think>4", [
      ["reasoning", "Two and two"],
      ["text", "4"],
    ]],
    [
      "space around everything",
      "\n <think>\nTwo and two.\n</think>\n\n It is 4. ",
      [
        ["reasoning", "Two and two."],
        ["text", "It is 4. "],
      ],
    ],
    ["gpt-oss on Bedrock", "<reasoning>Say pong.</reasoning>pong", [
      ["reasoning", "Say pong."],
      ["text", "pong"],
    ]],
    ["other tags", "<thought>a < b</thought><think>c</think>", [
      ["reasoning", "a < b"],
      ["text", "<think>c</think>"],
    ]],
    ["a longer tag", "<thinking>a</think></thinking>b", [
      ["reasoning", "a</think>"],
      ["text", "b"],
    ]],
    ["an empty tag", "<think>\n\n</think>\n\nHello", [["text", "Hello"]]],
    ["a tag that never closes", "<think>It goes on </thin", [
      ["reasoning", "It goes on </thin"],
      ["text", "<think>It goes on </thin"],
    ]],
    ["an answer about the tag", "<think> is a tag.\n", [
      ["reasoning", "is a tag."],
      ["text", "<think> is a tag.\n"],
    ]],
    ["an object after the tag", '<think>{"a":1}</think>\n{"a":2}', [
      ["reasoning", '{"a":1}'],
      ["text", '{"a":2}'],
    ]],
    ["only reasoning", "<think>Done</think>\n", [["reasoning", "Done"]]],
    ["no tag", "Hello <think>there</think>", [
      ["text", "Hello <think>there</think>"],
    ]],
    ["another tag", "<table>1</table>", [["text", "<table>1</table>"]]],
    ["the beginning of a tag", "<thi", [["text", "<thi"]]],
    ["a quoted tag", "`<think>` begins it", [["text", "`<think>` begins it"]]],
    ["only space", "  ", [["text", "  "]]],
  ];

Deno.test("readTaggedReasoning() reads a leading tag, however the text is split into chunks", async (t) => {
  await steps(t, CASES, ([, text, shown]) => {
    for (let size = 1; size <= text.length; size++) {
      assert.deepEqual(shownOf(chunksOf(text, size)), shown, `by ${size}`);
    }
    for (let at = 1; at < text.length; at++) {
      const pieces = [text.slice(0, at), text.slice(at)];
      assert.deepEqual(shownOf(pieces), shown, `at ${at}`);
    }
  });
});

Deno.test("readTaggedReasoning() keeps calls after the reasoning", () => {
  for (const text of ["<think>a</think>", "<think>a</think>b", "<think>a"]) {
    const call = { id: "c", function: { name: "f", arguments: "{}" } };
    const deltas = [
      ...chunksOf(text, 3).map((content) => ({ content })),
      { tool_calls: [{ index: 0, ...call }] },
    ];
    const answer = fold(deltas);
    assert.equal(answer.blocks.at(-1)?.kind, "function_call");
    assert.equal(answer.blocks[0]?.kind, "reasoning");
    assert.equal(answer.blocks.length, text.endsWith("b") ? 3 : 2);
    assert.equal(answer.stop.reason, "tool_calls");
  }
});

Deno.test("readTaggedReasoning() does not repeat reasoning as text when the answer was cut off", () => {
  for (const reason of ["length", "content_filter"]) {
    const answer = fold([{ content: "<think>It goes" }], reason);
    assert.deepEqual(shownIn(answer.blocks), [["reasoning", "It goes"]]);
  }
});

Deno.test("readTaggedReasoning() does not change the text of an answer whose reasoning is separate", () => {
  const answer = fold([
    { reasoning_content: "a" },
    { content: "<think>b</think>c" },
  ]);
  assert.deepEqual(shownIn(answer.blocks), [
    ["reasoning", "a"],
    ["text", "<think>b</think>c"],
  ]);
});

Deno.test("readTaggedReasoning() keeps the failure of an answer", () => {
  for (const text of ["", "<th", "<think>a", "<think>a</think>", "b"]) {
    const decoder = chatCodec.createStreamDecoder(counterIds());
    const frames = [frameOf({ content: text })];
    const events = edited(runStage(decoder, frames));
    assert.equal(events.at(-1)?.type, "failure", text);
  }
});

Deno.test("writesTags() recognizes the models that write a tag, under every host's name", () => {
  for (
    const model of [
      "openai.gpt-oss-120b-1:0",
      "us.deepseek.r1-v1:0",
      "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
      "accounts/fireworks/models/qwen3-235b-a22b",
      "qwen.qwen3-32b-v1:0",
      "MiniMaxAI/MiniMax-M2",
      "QwQ-32B",
    ]
  ) assert.ok(writesTags(model), model);
  for (
    const model of ["gpt-6", "claude-opus-5-5", "mistral-large", "kimi-k3"]
  ) assert.ok(!writesTags(model), model);
});

function chunksOf(text: string, size: number): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += size) {
    chunks.push(text.slice(at, at + size));
  }
  return chunks;
}

function frameOf(delta: object): { readonly data: string } {
  return { data: JSON.stringify({ id: "a", choices: [{ index: 0, delta }] }) };
}

function edited(events: readonly AnswerEvent[]): AnswerEvent[] {
  return runStage(createGrammar(), runStage(readTaggedReasoning(), events));
}

function fold(deltas: readonly object[], finish_reason = "stop") {
  const finish = { choices: [{ index: 0, finish_reason }] };
  const decoder = chatCodec.createStreamDecoder(counterIds());
  const frames = [
    ...deltas.map(frameOf),
    { data: JSON.stringify(finish) },
    { data: "[DONE]" },
  ];
  return foldAnswer(edited(runStage(decoder, frames)));
}

function shownOf(pieces: readonly string[]): Shown {
  return shownIn(fold(pieces.map((content) => ({ content }))).blocks);
}

function shownIn(blocks: ReturnType<typeof foldAnswer>["blocks"]): Shown {
  return blocks.map((block) => {
    if (block.kind === "reasoning") {
      return [block.kind, block.parts.map(({ text }) => text).join("")];
    }
    return [block.kind, block.kind === "text" ? block.text : ""];
  });
}

Deno.test("readTaggedReasoning() holds back only a limited number of spaces, before a tag or in it", () => {
  const PIECE = " ".repeat(100);
  for (const start of ["", "<think>a"]) {
    const stage = readTaggedReasoning();
    let passed = 0;
    const emit = (event: AnswerEvent) => {
      if (event.type === "block-delta") passed += event.text.length;
    };
    stage.push(
      { type: "block-start", index: 0, block: { kind: "text" } },
      emit,
    );
    stage.push({ type: "block-delta", index: 0, text: start }, emit);
    for (let count = 0; count < 1000; count++) {
      stage.push({ type: "block-delta", index: 0, text: PIECE }, emit);
    }
    assert.ok(passed > 999 * PIECE.length, `${start}: ${passed}`);
  }
});
