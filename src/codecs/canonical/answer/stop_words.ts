import { wordList } from "@gateway/base/collections";
import type { Failure, FailureKind } from "../failure/failure.ts";
import type { StopReason } from "./answer.ts";

/** The meaning of a provider's stop reason. */
type Meaning =
  | { readonly reason: StopReason }
  /** The answer is incomplete. */
  | { readonly failure: FailureKind };

/** The stop reasons that have the same meaning, in lower case. */
interface Row {
  readonly means: Meaning;
  /** The stop reasons, separated by white space. */
  readonly words: string;
  /** The providers that use the words, in the same order. */
  readonly source: string;
}

/** The stop reasons of all providers, in one table: a server often uses words of another protocol than its own. */
const ROWS: readonly Row[] = [
  {
    means: { reason: "end" },
    words: "stop end_turn completed complete eos eos_token steered",
    source: "OpenAI; Anthropic; OpenAI Responses; Cohere; Together; Hugging " +
      "Face TGI; OpenAI Responses",
  },
  {
    means: { reason: "stop_sequence" },
    words: "stop_sequence",
    source: "Anthropic, Hugging Face TGI, Cohere",
  },
  {
    means: { reason: "tool_calls" },
    words: "tool_calls function_call tool_use tool_call",
    source: "OpenAI; OpenAI before 2024; Anthropic; Together, Cohere",
  },
  {
    means: { reason: "max_tokens" },
    words: "length max_tokens max_output_tokens",
    source: "OpenAI; Anthropic, Gemini; OpenAI Responses",
  },
  {
    means: { reason: "context_full" },
    words: `
      model_context_window_exceeded model_length context_length_exceeded
    `,
    source:
      "Anthropic and z.ai (github.com/anomalyco/opencode/issues/18813); Mistral; servers that use the code of OpenAI's " +
      "error",
  },
  {
    means: { reason: "filtered" },
    words: `
      content_filter sensitive refusal guardrail_intervened error_toxic safety
      recitation blocklist prohibited_content spii image_safety
      image_prohibited_content image_recitation
    `,
    source:
      "OpenAI; z.ai; Anthropic; Bedrock; Cohere; Gemini, whose compatible endpoint keeps its own words " +
      "(github.com/HKUDS/Vibe-Trading/pull/308)",
  },
  {
    means: { reason: "paused" },
    words: "pause_turn compaction",
    source: "Anthropic",
  },
  {
    means: { failure: "server" },
    words: "error network_error abort failed cancelled canceled",
    source:
      "OpenRouter, vLLM, Mistral; z.ai; vLLM, SGLang; servers that use a status of Responses",
  },
  {
    means: { failure: "overloaded" },
    words: "insufficient_system_resource",
    source: "DeepSeek (api-docs.deepseek.com, finish_reason)",
  },
  {
    means: { failure: "broken" },
    words: `
      malformed_function_call unexpected_tool_call function_call_filter
      malformed_tool_use malformed_model_output
    `,
    source:
      "Gemini (github.com/googleapis/python-genai/issues/1836); Gemini; its compatible endpoint; Bedrock; Bedrock",
  },
];

const MEANING_BY_WORD: ReadonlyMap<string, Meaning> = new Map(
  ROWS.flatMap(({ means, words }) =>
    wordList(words).map((word) => [word, means] as const)
  ),
);

/** The good stop reasons. A router may send such a reason although the answer was cut off. */
const GOOD_REASONS: readonly StopReason[] = [
  "end",
  "stop_sequence",
  "tool_calls",
];

/** Returns the meaning of a word. Ignores the word's case and the details that Gemini adds after a colon. */
function meaningOf(word: string): Meaning | undefined {
  return MEANING_BY_WORD.get(keyOf(word));
}

function keyOf(word: string): string {
  const [key = ""] = word.toLowerCase().split(":");
  return key.trim();
}

/** Returns the stop reason of a word; `other` for an unknown word and for a word that means a failure. */
export function reasonOfWord(word: string): StopReason {
  const meaning = meaningOf(word);
  return meaning !== undefined && "reason" in meaning
    ? meaning.reason
    : "other";
}

/** Returns the failure that a word means, if any. */
export function failureOfWord(word: string): Failure | undefined {
  const meaning = meaningOf(word);
  if (meaning === undefined || "reason" in meaning) return undefined;
  const { failure: kind } = meaning;
  return {
    kind,
    message: `The provider ended the answer with \`${
      keyOf(word)
    }\`. Try again.`,
  };
}

/** Returns true when a word is a known stop reason. Such a word is not a stop string of the caller. */
export function isStopWord(word: string): boolean {
  return meaningOf(word) !== undefined;
}

/**
 * Returns the stop reason that counts when a router sends two: the router's reason `word` and its provider's reason
 * `nativeWord`. The provider's reason counts when it is worse. For example, OpenRouter sends `tool_calls` for an answer
 * that `length` cut off.
 */
export function worseWord(word: string, nativeWord: string): string {
  const native = meaningOf(nativeWord);
  const isGood = GOOD_REASONS.includes(reasonOfWord(word));
  const isWorse = native !== undefined &&
    !("reason" in native && GOOD_REASONS.includes(native.reason));
  return isGood && isWorse ? nativeWord : word;
}
