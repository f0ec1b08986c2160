import { wordList, wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  nonEmptyText,
} from "@gateway/base/json";
import { isErrorBody, mayBeFailure } from "../canonical/failure/error_body.ts";
import type { AnswerWatch } from "../canonical/codec.ts";
import { laterUsage } from "../canonical/answer/answer.ts";
import { usageIn } from "./answer/usage.ts";

/**
 * The watch for Chat Completions and legacy completions. Chunks of legacy completions have `text` instead of a delta.
 */
export const chatWatch: AnswerWatch = {
  usageMark: 'usage"',
  mayCount: (text) => USAGE_REGEXP.test(text),
  mayBeFailure,
  isOutput(event) {
    return choices(event).some((choice) =>
      isFilled(choice.text) || holdsOutput(choice.delta)
    );
  },
  writtenKeys: wordSet(`
    arguments content reasoning reasoning_content refusal text thinking
  `),
  /** Finds the error. OpenRouter puts an error into the choice that the error ends. */
  failureOf(body) {
    return [body, ...choices(body)].find(isErrorBody);
  },
  modelOf: ({ model }) => nonEmptyText(model),
  /** Reads the usage. Moonshot puts the usage of a stream into the choice that finishes. */
  usageOf(body, before) {
    const counted = [body, ...choices(body)].map(usageIn)
      .find((usage) => usage !== undefined);
    return counted && laterUsage(before, counted);
  },
  isEnd(data) {
    return data === "[DONE]" || FINISH_REGEXP.test(data);
  },
  isFailure(data) {
    return FAILURE_REGEXP.test(data);
  },
};

/** Matches a usage that is an object. Some streams have a `null` usage on every chunk. */
const USAGE_REGEXP = /"usage"\s*:\s*\{/;

/**
 * Matches a finish reason other than `error`. Some streams end without `[DONE]`. Perplexity and Cerebras end a stream
 * with the chunk that has the finish reason, and others with a later chunk that has the usage.
 */
const FINISH_REGEXP = /"finish_reason"\s*:\s*"(?!error")[^"]/;

const FAILURE_REGEXP = /"error"\s*:\s*("[^"]|\{)/;

const OUTPUT_KEYS = wordList(`
  content reasoning_content reasoning tool_calls function_call audio refusal
`);

function choices(body: JsonObject): readonly JsonObject[] {
  return Array.isArray(body.choices) ? body.choices.filter(isJsonObject) : [];
}

function holdsOutput(delta: unknown): boolean {
  return isJsonObject(delta) &&
    OUTPUT_KEYS.some((key) => isFilled(delta[key]));
}

function isFilled(value: unknown): boolean {
  if (typeof value === "string" || Array.isArray(value)) {
    return value.length > 0;
  }
  return isJsonObject(value);
}
