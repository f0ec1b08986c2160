import type { Failure, FailureKind } from "../failure/failure.ts";
import type { StopReason } from "./answer.ts";

/** What a provider's word for the end of an answer means. */
type Meaning =
  | { readonly reason: StopReason }
  /** The answer did not come to its end. */
  | { readonly failure: FailureKind };

/** Words with one meaning, in lower case, and whose they are. */
interface Row {
  readonly means: Meaning;
  readonly words: readonly string[];
  /** Where the words are documented or were seen, in their order. */
  readonly source: string;
}

/**
 * Every word that providers are known to end an answer with, in any protocol: servers that imitate one often keep
 * another's words.
 */
const ROWS: readonly Row[] = [
  {
    means: { reason: "end" },
    words: [
      "stop",
      "end_turn",
      "completed",
      "complete",
      "eos",
      "eos_token",
      "steered",
    ],
    source: "OpenAI; Anthropic; OpenAI Responses; Cohere; Together; Hugging " +
      "Face TGI; OpenAI Responses",
  },
  {
    means: { reason: "stop_sequence" },
    words: ["stop_sequence"],
    source: "Anthropic, Hugging Face TGI, Cohere",
  },
  {
    means: { reason: "tool_calls" },
    words: ["tool_calls", "function_call", "tool_use", "tool_call"],
    source: "OpenAI; OpenAI before 2024; Anthropic; Together, Cohere",
  },
  {
    means: { reason: "max_tokens" },
    words: ["length", "max_tokens", "max_output_tokens"],
    source: "OpenAI; Anthropic, Gemini; OpenAI Responses",
  },
  {
    means: { reason: "context_full" },
    words: [
      "model_context_window_exceeded",
      "model_length",
      "context_length_exceeded",
    ],
    source:
      "Anthropic and z.ai (github.com/anomalyco/opencode/issues/18813); Mistral; servers that end with the name of " +
      "OpenAI's error",
  },
  {
    means: { reason: "filtered" },
    words: [
      "content_filter",
      "sensitive",
      "refusal",
      "guardrail_intervened",
      "error_toxic",
      "safety",
      "recitation",
      "blocklist",
      "prohibited_content",
      "spii",
      "image_safety",
      "image_prohibited_content",
      "image_recitation",
    ],
    source:
      "OpenAI; z.ai; Anthropic; Bedrock; Cohere; Gemini, whose compatible endpoint passes its own words on " +
      "(github.com/HKUDS/Vibe-Trading/pull/308)",
  },
  {
    means: { reason: "paused" },
    words: ["pause_turn", "compaction"],
    source: "Anthropic",
  },
  {
    means: { failure: "server" },
    words: [
      "error",
      "network_error",
      "abort",
      "failed",
      "cancelled",
      "canceled",
    ],
    source:
      "OpenRouter, vLLM, Mistral; z.ai; vLLM, SGLang; servers that end with a word for a status of Responses",
  },
  {
    means: { failure: "overloaded" },
    words: ["insufficient_system_resource"],
    source: "DeepSeek (api-docs.deepseek.com, finish_reason)",
  },
  {
    means: { failure: "broken" },
    words: [
      "malformed_function_call",
      "unexpected_tool_call",
      "function_call_filter",
      "malformed_tool_use",
      "malformed_model_output",
    ],
    source:
      "Gemini (github.com/googleapis/python-genai/issues/1836); Gemini; its compatible endpoint; Bedrock; Bedrock",
  },
];

const MEANING_BY_WORD: ReadonlyMap<string, Meaning> = new Map(
  ROWS.flatMap(({ means, words }) =>
    words.map((word) => [word, means] as const)
  ),
);

/** Ends at which a provider may have hidden that the answer was cut off. */
const GOOD_REASONS: readonly StopReason[] = [
  "end",
  "stop_sequence",
  "tool_calls",
];

/**
 * What a word means; Gemini's compatible endpoint puts details behind a colon, and others shout.
 *
 * @returns `undefined` for a word that nobody knows.
 */
function meaningOf(word: string): Meaning | undefined {
  return MEANING_BY_WORD.get(keyOf(word));
}

function keyOf(word: string): string {
  const [key = ""] = word.toLowerCase().split(":");
  return key.trim();
}

/** The reason that a word gives; `other` for one that nobody knows, and for one that tells of a failure. */
export function reasonOfWord(word: string): StopReason {
  const meaning = meaningOf(word);
  return meaning !== undefined && "reason" in meaning
    ? meaning.reason
    : "other";
}

/** The failure that a word tells of, if it does. */
export function failureOfWord(word: string): Failure | undefined {
  const meaning = meaningOf(word);
  if (meaning === undefined || "reason" in meaning) return undefined;
  const { failure: kind } = meaning;
  return {
    kind,
    message: `The provider ended the answer with \`${keyOf(word)}\`: try again`,
  };
}

/** Whether a word is one of those that end answers, and so no stop string of the caller's. */
export function isStopWord(word: string): boolean {
  return meaningOf(word) !== undefined;
}

/**
 * The word to go by of two that a router gives: its own, and that of the provider behind it, which counts where it
 * knows of a worse end (OpenRouter says `tool_calls` for an answer that `length` cut off).
 */
export function worseWord(word: string, nativeWord: string): string {
  const native = meaningOf(nativeWord);
  const isGood = GOOD_REASONS.includes(reasonOfWord(word));
  const isWorse = native !== undefined &&
    !("reason" in native && GOOD_REASONS.includes(native.reason));
  return isGood && isWorse ? nativeWord : word;
}
