import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import {
  servedWord,
  tokenCount,
  type Usage,
} from "../../canonical/answer/answer.ts";
import { readInput } from "../../canonical/answer/cache_counts.ts";

/**
 * Parses a `usage` object. `prompt_tokens` includes cached tokens. Some providers use the names of another protocol,
 * such as `input_tokens`. These names are read too.
 *
 * @returns `undefined` when the object has no counts.
 */
function decodeUsage(
  value: JsonValue | undefined,
  serviceTier: JsonValue | undefined,
): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const inputDetails = details(
    value.prompt_tokens_details,
    value.prompt_token_details,
    value.input_tokens_details,
  );
  const outputDetails = details(
    value.completion_tokens_details,
    value.output_tokens_details,
  );
  const reasoning = tokenCount(outputDetails.reasoning_tokens) ??
    tokenCount(value.reasoning_tokens);
  const prompt = tokenCount(value.prompt_tokens) ??
    tokenCount(value.input_tokens);
  const answer = tokenCount(value.completion_tokens) ??
    tokenCount(value.output_tokens);
  if (prompt === undefined && answer === undefined) return undefined;
  const cache = readInput(value, [prompt, answer]);
  const { input, output } = withHidden(value, {
    input: prompt === undefined ? undefined : cache.inputTokens,
    output: answer,
    reasoning,
    audio: tokenCount(inputDetails.audio_tokens),
  });
  return {
    ...cache,
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    reasoningTokens: reasoning,
    speed: servedWord(value.speed),
    serviceTier: servedWord(serviceTier) ?? servedWord(value.service_tier),
  };
}

/** Reads the `usage` of an answer or a chunk. Groq may send `usage` only inside `x_groq`. */
export function usageIn(
  { usage, x_groq, service_tier }: JsonObject,
): Usage | undefined {
  return decodeUsage(usage, service_tier) ??
    (isJsonObject(x_groq)
      ? decodeUsage(x_groq.usage, service_tier)
      : undefined);
}

/** Returns a `usage` object, without the counts that the provider did not send. */
export function encodeUsage(usage: Usage): JsonObject {
  const {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
  } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...encodeDetails("prompt_tokens_details", {
      cached_tokens: cachedInputTokens,
      cache_write_tokens: cacheWriteTokens,
    }),
    ...encodeDetails("completion_tokens_details", {
      reasoning_tokens: reasoningTokens,
    }),
  };
}

function encodeDetails(
  name: string,
  counts: Readonly<Record<string, number | undefined>>,
): JsonObject {
  const known = Object.entries(counts).filter(([, count]) =>
    count !== undefined
  );
  return known.length === 0 ? {} : { [name]: Object.fromEntries(known) };
}

/** The input and output tokens of a usage, and the tokens that may be missing from their sum. */
interface Counted {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
  /** The audio tokens of the input. */
  readonly audio: number | undefined;
}

/**
 * Adds the tokens that only `total_tokens` includes to the input or the output. The provider's details decide between
 * the two. xAI's `completion_tokens` leave out reasoning. Mistral's `prompt_tokens` leave out audio, in tokens or in
 * seconds (https://docs.mistral.ai/capabilities/audio/). If there are no such details, the tokens are hidden thinking,
 * as Gemini's are. If the details explain only some of the tokens, the rest is not counted.
 */
function withHidden(value: JsonObject, counted: Counted): Counted {
  const { input, output, reasoning, audio } = counted;
  const total = tokenCount(value.total_tokens);
  if (total === undefined || input === undefined) return counted;
  if (output === undefined) {
    return { ...counted, output: Math.max(0, total - input) };
  }
  const hidden = Math.max(0, total - input - output);
  const reasoningTokens = Math.min(hidden, reasoning ?? 0);
  const audioTokens = Math.min(hidden - reasoningTokens, audio ?? 0);
  const rest = hidden - reasoningTokens - audioTokens;
  const isAudioInput = (tokenCount(value.prompt_audio_seconds) ?? 0) > 0;
  const isReasoning = !isAudioInput && reasoning === undefined && !audio;
  return {
    ...counted,
    input: input + audioTokens + (isAudioInput ? rest : 0),
    output: output + reasoningTokens + (isReasoning ? rest : 0),
  };
}

function details(...spellings: readonly (JsonValue | undefined)[]): JsonObject {
  return spellings.find(isJsonObject) ?? {};
}
