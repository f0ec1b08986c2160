import { wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "@gateway/base/json";
import {
  laterUsage as mergeCounts,
  servedWord,
  tokenCount,
  type Usage,
} from "../../canonical/answer/answer.ts";
import { readInput } from "../../canonical/answer/cache_counts.ts";
import { metadataOf } from "../request/fields.ts";

/** The maximum number of fields that are kept of a provider's counts. */
const MAX_FIELDS = 64;

const KNOWN_FIELDS = wordSet(`
  input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens
  output_tokens_details service_tier
`);

/** Parses a `usage`. Its `input_tokens` exclude tokens of the cache. Returns `undefined` without counts. */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const input = tokenCount(value.input_tokens);
  const output = tokenCount(value.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const details = objectOf(value.output_tokens_details);
  return {
    ...readInput(value, [input, output], true),
    outputTokens: output ?? 0,
    reasoningTokens: tokenCount(details.thinking_tokens),
    speed: servedWord(value.speed),
    serviceTier: servedWord(value.service_tier),
    inferenceGeo: servedWord(value.inference_geo),
    providerMetadata: metadataOf(value, KNOWN_FIELDS),
  };
}

/** Returns a `usage` object. The cache counts are always present, since callers add them up. */
export function encodeUsage(usage: Usage): JsonObject {
  return {
    ...(usage.providerMetadata?.messages ?? {}),
    input_tokens: Math.max(0, freshTokens(usage)),
    cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
    cache_read_input_tokens: usage.cachedInputTokens ?? 0,
    output_tokens: usage.outputTokens,
    ...(usage.reasoningTokens === undefined ? {} : {
      output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    }),
  };
}

/**
 * Merges decoded counts as {@linkcode mergeUsage} does, but merges fresh, cached and written input tokens separately.
 */
export function laterUsage(before: Usage | undefined, later: Usage): Usage {
  if (before === undefined) return later;
  const fresh = freshTokens(later) || freshTokens(before);
  const merged = mergeCounts(before, later);
  const { cachedInputTokens = 0, cacheWriteTokens = 0 } = merged;
  return {
    ...merged,
    inputTokens: fresh + cachedInputTokens + cacheWriteTokens,
  };
}

/** Returns the input tokens that did not go through a cache. */
function freshTokens(usage: Usage): number {
  const { inputTokens, cachedInputTokens, cacheWriteTokens } = usage;
  return inputTokens - (cachedInputTokens ?? 0) - (cacheWriteTokens ?? 0);
}

/**
 * Merges the counts of a stream. They arrive in several events, and each event counts the whole answer so far
 * (docs.anthropic.com, "Streaming messages": the counts of `message_delta` are cumulative). Later counts replace
 * earlier counts, but zero and missing counts replace nothing. Some providers send 0 first and the actual count last,
 * and others do the reverse.
 */
export function mergeUsage(
  before: JsonObject | undefined,
  after: JsonValue | undefined,
): JsonObject | undefined {
  if (!isJsonObject(after)) return before;
  const merged: JsonObject = { ...before };
  for (const [field, value] of Object.entries(after).slice(0, MAX_FIELDS)) {
    if (!(field in merged) && Object.keys(merged).length >= MAX_FIELDS) {
      continue;
    }
    const isCount = value !== null && value !== undefined && value !== 0;
    if (isCount || (merged[field] ?? null) === null) merged[field] = value;
  }
  return merged;
}
