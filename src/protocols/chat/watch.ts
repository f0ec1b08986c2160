import {
  isJsonObject,
  type JsonObject,
  nonEmptyText,
} from "../../core/json.ts";
import { isErrorBody, mayBeFailure } from "../canonical/failure/error_body.ts";
import type { AnswerWatch } from "../canonical/codec.ts";
import { laterUsage } from "../canonical/answer/answer.ts";
import { usageIn } from "./answer/usage.ts";

/** Watches Chat Completions, and legacy completions, whose chunks have `text` in place of a delta. */
export const chatWatch: AnswerWatch = {
  usageMark: 'usage"',
  mayCount: (text) => USAGE_REGEXP.test(text),
  mayBeFailure,
  isOutput(event) {
    return choices(event).some((choice) =>
      isFilled(choice.text) || holdsOutput(choice.delta)
    );
  },
  writtenKeys: new Set([
    "arguments",
    "content",
    "reasoning",
    "reasoning_content",
    "refusal",
    "text",
    "thinking",
  ]),
  /** OpenRouter puts the error into the choice that it ends. */
  failureOf(body) {
    return [body, ...choices(body)].find(isErrorBody);
  },
  modelOf: ({ model }) => nonEmptyText(model),
  /** Moonshot puts the usage of a stream into the choice that finishes. */
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

/** A usage that is there; `null` stands on every chunk of some streams. */
const USAGE_REGEXP = /"usage"\s*:\s*\{/;

/** Perplexity and Cerebras end with the chunk that finishes, others with the usage behind it, without `[DONE]`. */
const FINISH_REGEXP = /"finish_reason"\s*:\s*"(?!error")[^"]/;

const FAILURE_REGEXP = /"error"\s*:\s*("[^"]|\{)/;

const OUTPUT_KEYS = [
  "content",
  "reasoning_content",
  "reasoning",
  "tool_calls",
  "function_call",
  "audio",
  "refusal",
];

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
