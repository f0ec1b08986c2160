import { wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nonEmptyText,
} from "@gateway/base/json";
import { isErrorBody, mayBeFailure } from "../canonical/failure/error_body.ts";
import {
  type OtherUsage,
  tokenCount,
  type Usage,
} from "../canonical/answer/answer.ts";
import { droppedIn } from "../canonical/answer/reasoning.ts";
import type { AnswerWatch } from "../canonical/codec.ts";
import { refusalBefore } from "./answer/stop.ts";
import { decodeUsage, laterUsage } from "./answer/usage.ts";

export const messagesWatch: AnswerWatch = {
  usageMark: 'usage"',
  mayCount: (text) => USAGE_REGEXP.test(text),
  mayBeFailure,
  isOutput(event) {
    if (event.type === "content_block_delta") return true;
    return event.type === "content_block_start" &&
      isJsonObject(event.content_block) &&
      event.content_block.type !== "text" &&
      event.content_block.type !== "thinking";
  },
  writtenKeys: wordSet("content partial_json text thinking"),
  failureOf(body) {
    return isErrorBody(body) ? body : undefined;
  },
  modelOf(body) {
    const holder = isJsonObject(body.message) ? body.message : body;
    return fallbackModel(body.usage) ?? fallbackModel(holder.usage) ??
      continuingModel(body.content_block) ?? nonEmptyText(holder.model);
  },
  usageOf(body, before) {
    const counted = readUsage(body) ??
      (isJsonObject(body.message) ? readUsage(body.message) : undefined);
    if (counted === undefined) return undefined;
    const others = counted.others ?? before?.others;
    const usage = laterUsage(before, counted);
    const ending = isJsonObject(body.delta) ? body.delta : body;
    const refusal = refusalBefore(ending, usage);
    return {
      ...usage,
      ...(others === undefined ? {} : { others }),
      ...(refusal === undefined ? {} : { refusal }),
    };
  },
  droppedOf: (body) => droppedIn(body, body.message),
  isEnd(data) {
    return MESSAGE_STOP_REGEXP.test(data);
  },
  isFailure(data) {
    return FAILURE_REGEXP.test(data);
  },
};

/** Matches a usage that is an object, or the response to a request for a token count. */
const USAGE_REGEXP = /"usage"\s*:\s*\{|"input_tokens"/;

const MESSAGE_STOP_REGEXP = /"type"\s*:\s*"message_stop"/;

const FAILURE_REGEXP = /"type"\s*:\s*"error"|"error"\s*:\s*\{/;

/**
 * Returns the model of `fallbacks` that served the answer. The last counted attempt names this model
 * (platform.claude.com/docs/en/build-with-claude/refusals-and-fallback).
 */
function fallbackModel(usage: JsonValue | undefined): string | undefined {
  const iterations = isJsonObject(usage) ? usage.iterations : undefined;
  const last = Array.isArray(iterations) ? iterations.at(-1) : undefined;
  return isJsonObject(last) && last.type === "fallback_message"
    ? nonEmptyText(last.model)
    : undefined;
}

/** Returns the model that continues an answer after a `fallback` block. */
function continuingModel(block: JsonValue | undefined): string | undefined {
  return isJsonObject(block) && block.type === "fallback" &&
      isJsonObject(block.to)
    ? nonEmptyText(block.to.model)
    : undefined;
}

/** Returns the counts of an answer, or of a response to `count_tokens`. */
function readUsage(holder: JsonObject): Usage | undefined {
  const { usage } = holder;
  if (!isJsonObject(usage)) {
    const counted = tokenCount(holder.input_tokens);
    return counted === undefined
      ? undefined
      : { inputTokens: counted, outputTokens: 0 };
  }
  const counted = decodeUsage(usage);
  if (counted === undefined) return undefined;
  const { providerMetadata: _providerMetadata, ...counts } = counted;
  const others = othersIn(usage.iterations);
  return others.length === 0 ? counts : { ...counts, others };
}

/**
 * The types of entries in `usage.iterations` whose tokens the other counts of `usage` do not include (npm
 * `@anthropic-ai/sdk`: `BetaIterationsUsage`).
 */
const LEFT_OUT: ReadonlySet<JsonValue | undefined> = new Set([
  "advisor_message",
  "compaction",
]);

function othersIn(iterations: JsonValue | undefined): readonly OtherUsage[] {
  if (!Array.isArray(iterations)) return [];
  return iterations.flatMap((one) => {
    if (!isJsonObject(one) || !LEFT_OUT.has(one.type)) return [];
    const usage = decodeUsage(one);
    return usage === undefined
      ? []
      : [{ model: nonEmptyText(one.model), usage }];
  });
}
