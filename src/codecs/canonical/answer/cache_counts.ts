import { isJsonObject, type JsonObject } from "@gateway/base/json";
import { memoized } from "@gateway/base/memo";
import { tokenCount, type Usage } from "./answer.ts";

const READ_REGEXP = /cached|cache_?(?:read|hit)/i;
const WRITTEN_REGEXP = /cache_?(?:writ|creat)/i;
/** Matches the name of a count that Claude's protocol does not include in the input tokens. */
const BESIDE_REGEXP = /cache_?(?:read|creat)/i;
/** Matches the names of values that are no input tokens: other facts about a cache, and counts of the output. */
const OTHER_REGEXP =
  /un_?cached|no[nt]_?cached|miss|cost|price|discount|rate|ratio|percent|request|output|completion|candidate|generat|time|latency|duration|expir|second|ttl(?!\w*tokens)|_(?:at|ms|s|id|key)$/i;
/** Matches names in camel case whose last word shows that the value is no count, such as `Id` in `cacheId`. */
const CAMEL_REGEXP = /[a-z](?:At|Ms|Id|Key)$/;

/** Returns true for a name of other values. Remembers the results: all answers of a provider have the same names. */
const isOther = memoized(
  (name) => OTHER_REGEXP.test(name) || CAMEL_REGEXP.test(name),
  200,
);

type Count = readonly [name: string, tokens: number];

/** The most levels of nested details that are read. No real provider has more levels. */
const MAX_LEVELS = 3;

/** Returns the counts of a usage and of its details. A cache count that is an object becomes the sum of its parts. */
function countsIn(usage: JsonObject, level = 1): readonly Count[] {
  return Object.entries(usage).slice(0, 64).flatMap(([name, value]) => {
    if (isOther(name)) return [];
    const tokens = tokenCount(value);
    if (tokens !== undefined) return [[name, tokens]];
    const parts = isJsonObject(value) && level < MAX_LEVELS
      ? countsIn(value, level + 1)
      : [];
    const isCache = READ_REGEXP.test(name) || WRITTEN_REGEXP.test(name);
    if (!isCache || parts.length === 0) return level > 1 ? [] : parts;
    const sum = parts.reduce((total, [, part]) => total + part, 0);
    return [...parts.filter(([part]) => part.includes("_1h")), [name, sum]];
  });
}

/**
 * Reads the counts of the input and its cache by words in their names, because providers name these counts differently.
 * Of several counts for the same, the largest applies. Cache counts are added to the input if they exceed the input and
 * the total has room for them. Cache counts with Claude's names are added if they exceed the input, if they fill the
 * total exactly, or if `isClaude` is true. Otherwise cache counts are cut to the input.
 */
export function readInput(
  usage: JsonObject,
  [input = 0, output = 0]: readonly (number | undefined)[],
  isClaude = false,
): Omit<Usage, "outputTokens"> {
  const counts = countsIn(usage);
  const largest = (regexp: RegExp) =>
    counts.filter(([name]) => regexp.test(name))
      .toSorted(([, one], [, other]) => other - one)[0];
  const [read, written] = [largest(READ_REGEXP), largest(WRITTEN_REGEXP)];
  const sum = (read?.[1] ?? 0) + (written?.[1] ?? 0);
  const hidden = (tokenCount(usage.total_tokens) ?? 0) - input - output;
  const hasNames = [read, written].some((count) =>
    count !== undefined && count[1] > 0 && BESIDE_REGEXP.test(count[0])
  );
  const isBeside = hasNames && (isClaude || sum > input || hidden === sum) ||
    sum > input && hidden >= sum;
  const inputTokens = isBeside ? input + sum : input;
  const cached = read && Math.min(read[1], inputTokens);
  return {
    inputTokens,
    cachedInputTokens: cached,
    cacheWriteTokens: written &&
      Math.min(written[1], inputTokens - (cached ?? 0)),
    cacheWrite1hTokens: largest(/_1h/)?.[1],
  };
}
