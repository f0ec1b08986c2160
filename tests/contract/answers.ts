import type {
  Answer,
  StopReason,
} from "../../src/codecs/canonical/answer/answer.ts";
import type { AnswerBlock } from "../../src/codecs/canonical/content/block.ts";

/** An answer that every protocol should be able to express. */
export interface SampleAnswer {
  readonly name: string;
  readonly answer: Answer;
}

/** The answers that the contract suite sends through every codec. */
export const ANSWERS: readonly SampleAnswer[] = [
  sample("one text", "end", [{ kind: "text", text: "Hello, wörld 👋" }]),
  sample("one call", "tool_calls", [
    call("call_a", "weather", '{"city":"Köln"}'),
  ]),
  sample("parallel calls", "tool_calls", [
    call("call_a", "weather", '{"city":"Köln"}'),
    call("call_b", "time", '{"zone":"CET"}'),
  ]),
  sample("text and a call", "tool_calls", [
    { kind: "text", text: "Let me look." },
    call("call_a", "weather", '{"city":"Rome"}'),
  ]),
  sample("a call without arguments", "tool_calls", [
    call("call_a", "now", "{}"),
  ]),
  sample("reasoning and text", "end", [
    { kind: "reasoning", parts: [{ form: "raw", text: "2 and 2" }] },
    { kind: "text", text: "4" },
  ]),
  sample("reasoning and a call", "tool_calls", [
    { kind: "reasoning", parts: [{ form: "raw", text: "I must ask" }] },
    call("call_a", "weather", '{"city":"Rome"}'),
  ]),
  sample("cut by the token limit", "max_tokens", [
    { kind: "text", text: "Once upon a" },
  ]),
  sample("filtered", "filtered", [{ kind: "text", text: "I" }]),
  sample("a refusal in words", "end", [
    { kind: "refusal", text: "I will not do that." },
  ]),
  sample("nothing", "end", []),
];

function sample(
  name: string,
  reason: StopReason,
  blocks: readonly AnswerBlock[],
): SampleAnswer {
  return {
    name,
    answer: {
      id: "sample_1",
      model: "sample-model",
      createdAtMs: 1_700_000_000_000,
      blocks,
      stop: { reason },
      usage: {
        inputTokens: 100,
        cachedInputTokens: 40,
        cacheWriteTokens: 10,
        outputTokens: 20,
        reasoningTokens: 5,
      },
    },
  };
}

function call(id: string, name: string, text: string): AnswerBlock {
  return { kind: "function_call", id, name, arguments: text };
}
