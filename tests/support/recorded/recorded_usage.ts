import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * The tokens that an answer counts, as the log spells them, read from the whole answer; `undefined` when it
 * counts none.
 */
export function recordedUsage(
  answer: { readonly text: string; readonly streamed: boolean },
  protocol: Protocol,
): JsonObject | undefined {
  const texts = answer.streamed
    ? framesOf(answer.text + "\n\n").map(({ data }) => data)
    : [answer.text];
  const objects = texts.map(parseJson).filter(isJsonObject);
  switch (protocol) {
    case "chat":
      return openaiUsage(
        objects.flatMap((one) => [one, ...objectsIn(one.choices)])
          .map(({ usage }) => usage),
        { input: "prompt", output: "completion" },
      );
    case "messages":
      return messagesUsage(objects);
    case "responses":
      return openaiUsage(
        objects.map(({ usage, response }) => usage ?? at(response, "usage")),
        { input: "input", output: "output", absent: 0 },
      );
  }
}

/** Each event counts the whole answer so far, so the last holds; 0 stands where nothing was counted yet. */
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
 * Some leave reasoning out of the output and count it in the total alone; some use names of other protocols or
 * of their own.
 */
function openaiUsage(
  usages: readonly (JsonValue | undefined)[],
  { input, output, absent }: {
    readonly input: string;
    readonly output: string;
    /** What a detail counts that is not there. */
    readonly absent?: number;
  },
): JsonObject | undefined {
  const counts = lastCounts(usages);
  const inputTokens = counts[`${input}_tokens`];
  if (inputTokens === undefined) return undefined;
  const first = (...names: readonly string[]) =>
    names.map((name) => counts[name]).find((count) => count !== undefined) ??
      absent;
  return dense({
    input_tokens: inputTokens,
    cached_input_tokens: first(
      `${input}_tokens_details.cached_tokens`,
      "prompt_cache_hit_tokens",
      "cached_tokens",
      "cache_read_input_tokens",
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

/** The start counts the input, the last delta the output, and some providers both in the delta. */
function messagesUsage(objects: readonly JsonObject[]): JsonObject | undefined {
  const counts = lastCounts([
    ...objects.flatMap(({ usage, message }) => [usage, at(message, "usage")]),
    // What counts tokens alone says so at the top.
    ...objects.slice(0, 1),
  ]);
  const { input_tokens: input, output_tokens: output } = counts;
  if (input === undefined && output === undefined) return undefined;
  const cached = counts.cache_read_input_tokens;
  const written = counts.cache_creation_input_tokens;
  return dense({
    input_tokens: (input ?? 0) + (cached ?? 0) + (written ?? 0),
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: output ?? 0,
    reasoning_tokens: counts["output_tokens_details.thinking_tokens"],
  });
}

function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function at(
  value: JsonValue | undefined,
  key: string,
): JsonValue | undefined {
  return isJsonObject(value) ? value[key] : undefined;
}

/** Without what is absent. */
function dense(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
}
