import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * Returns the tokens of an answer with the log's field names, read from the whole answer;
 * `undefined` when it counts none.
 *
 * @param options.isTotal True to include the counts that an answer lists beside its own, such as an
 *   advisor's.
 */
export function recordedUsage(
  answer: { readonly text: string; readonly streamed: boolean },
  protocol: Protocol,
  { isTotal }: { readonly isTotal: boolean },
): JsonObject | undefined {
  const texts = answer.streamed
    ? framesOf(answer.text + "\n\n").map(({ data }) => data)
    : [answer.text];
  const objects = texts.map(parseJson).filter(isJsonObject);
  const counts = countsIn(objects, protocol, isTotal);
  return counts && dense({ ...counts, ...servedIn(objects) });
}

/** Returns the speed, region and one-hour cache writes of an answer, from the last event that has them. */
function servedIn(objects: readonly JsonObject[]) {
  const holders = objects.flatMap((one) => [
    one,
    ...[one.usage, one.response, at(one.response, "usage")],
    ...[at(one.message, "usage")],
  ]);
  const last = (values: readonly (JsonValue | undefined)[]) =>
    values.findLast((value) => (value ?? "") !== "");
  return {
    cache_write_1h_tokens: last(
      holders.map((one) =>
        at(at(one, "cache_creation"), "ephemeral_1h_input_tokens")
      ),
    ),
    speed: last(holders.map((one) => at(one, "speed"))),
    service_tier: last(holders.map((one) => at(one, "service_tier"))),
    inference_geo: last(holders.map((one) => at(one, "inference_geo"))),
  };
}

function countsIn(
  objects: readonly JsonObject[],
  protocol: Protocol,
  isTotal: boolean,
): JsonObject | undefined {
  switch (protocol) {
    case "chat":
      return openaiUsage(
        objects.flatMap((one) => [one, ...objectsIn(one.choices)])
          .map(({ usage }) => usage),
        { input: "prompt", output: "completion" },
      );
    case "messages":
      return messagesUsage(objects, isTotal);
    case "responses":
      return openaiUsage(
        objects.map(({ usage, response }) => usage ?? at(response, "usage")),
        { input: "input", output: "output" },
      );
  }
}

/**
 * Returns the last counts: each event counts the whole answer so far. A 0 means that nothing was
 * counted yet.
 */
function lastCounts(
  usages: readonly (JsonValue | undefined)[],
): Record<string, number> {
  const last: Record<string, number> = {};
  for (const usage of usages.filter(isJsonObject)) {
    for (const [name, value] of Object.entries(usage)) {
      const counts = isJsonObject(value)
        ? Object.entries(value)
        : [["", value]];
      for (const [part, count] of counts) {
        if (typeof count !== "number" || count < 0) continue;
        const path = part === "" ? name : `${name}.${part}`;
        last[path] = count || (last[path] ?? 0);
      }
    }
  }
  return last;
}

/**
 * Converts the counts of Chat Completions and Responses. Some providers leave reasoning out of the
 * output and count it in the total only. Some use field names of other protocols or their own.
 */
function openaiUsage(
  usages: readonly (JsonValue | undefined)[],
  { input, output }: {
    readonly input: string;
    readonly output: string;
  },
): JsonObject | undefined {
  const counts = lastCounts(usages);
  const inputTokens = counts[`${input}_tokens`];
  if (inputTokens === undefined) return undefined;
  const first = (...names: readonly string[]) =>
    names.map((name) => counts[name]).find((count) => count !== undefined);
  return dense({
    input_tokens: inputTokens,
    cached_input_tokens: first(
      `${input}_tokens_details.cached_tokens`,
      "prompt_cache_hit_tokens",
      "cached_tokens",
      "cache_read_input_tokens",
      "num_cached_tokens",
    ),
    cache_write_tokens: first(
      `${input}_tokens_details.cache_write_tokens`,
      "cache_creation_input_tokens",
    ),
    output_tokens: Math.max(
      counts[`${output}_tokens`] ?? 0,
      (counts.total_tokens ?? 0) - inputTokens,
    ),
    reasoning_tokens: first(
      `${output}_tokens_details.reasoning_tokens`,
      "reasoning_tokens",
    ),
  });
}

/**
 * Converts the counts of Messages. The first event counts the input, and the last delta the output.
 * Some providers count both in the delta.
 */
function messagesUsage(
  objects: readonly JsonObject[],
  isTotal: boolean,
): JsonObject | undefined {
  const counts = lastCounts([
    ...objects.flatMap(({ usage, message }) => [usage, at(message, "usage")]),
    // A response that only counts tokens has them at the top level.
    ...objects.slice(0, 1),
  ]);
  const { input_tokens: input, output_tokens: output } = counts;
  if (input === undefined && output === undefined) return undefined;
  const beside = (isTotal ? objects : []).flatMap(({ usage }) =>
    objectsIn(at(usage, "iterations"))
  ).filter(({ type }) => type === "advisor_message" || type === "compaction");
  /** Adds the tokens that only the last event lists. */
  const all = (name: string) =>
    beside.reduce(
      (sum, { [name]: count }) => sum + Number(count ?? 0),
      counts[name] ?? 0,
    );
  const cached = counts.cache_read_input_tokens;
  const written = counts.cache_creation_input_tokens;
  return dense({
    input_tokens: all("input_tokens") + all("cache_read_input_tokens") +
      all("cache_creation_input_tokens"),
    cached_input_tokens: cached && all("cache_read_input_tokens"),
    cache_write_tokens: written && all("cache_creation_input_tokens"),
    output_tokens: all("output_tokens"),
    reasoning_tokens: counts["output_tokens_details.thinking_tokens"],
  });
}

function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function at(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isJsonObject(value) ? value[key] : undefined;
}

/** Removes absent fields. */
function dense(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
}
