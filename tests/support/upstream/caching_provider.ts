import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import type { Act, Asked } from "./bad_provider.ts";

const MINUTE_MS = 60_000;

/** A provider with a prompt cache that follows the providers' documentation. */
export interface CachingProvider {
  readonly act: Act;
  /** Drops the whole cache, as if memory were short. */
  forget(): void;
  /** Fails the next request of a model. */
  failNext(model: string): void;
}

/** A prompt, cut at the places where a cached prefix may end. */
interface Prompt {
  readonly parts: readonly string[];
  /** The number of parts up to the last mark; all parts if caching is automatic. */
  readonly cachedParts: number;
  readonly lifetimeMs: number;
  /** True for Messages, whose requests mark the prefixes to cache. */
  readonly isMarked: boolean;
}

/**
 * Creates a provider that caches prefixes for five minutes, or for the time that the request asks for. A read restarts
 * the time. With Messages, it caches up to the last mark and reports what it writes. With the others, it caches
 * everything and reports only reads.
 */
export function createCachingProvider(): CachingProvider {
  /** The ends of the cached prefixes. */
  const ends = new Map<string, number>();
  const failing = new Set<string>();
  return {
    forget: () => ends.clear(),
    failNext: (model) => void failing.add(model),
    act(asked) {
      const { wire, model, atMs, body } = asked;
      if (failing.delete(model)) {
        return Response.json(wire.error("api_error", "It is broken"), {
          status: 503,
        });
      }
      const prompt = promptOf(asked);
      const tokens = prompt.parts.map((part) => Math.ceil(part.length / 4));
      let prefix = model;
      const prefixes = prompt.parts.map((part) => prefix += `\n${part}`);
      const read =
        prefixes.findLastIndex((one) => (ends.get(one) ?? 0) > atMs) +
        1;
      for (const one of prefixes.slice(0, prompt.cachedParts)) {
        ends.set(one, atMs + prompt.lifetimeMs);
      }
      const sum = (from: number, to?: number) =>
        tokens.slice(from, to).reduce((total, one) => total + one, 0);
      const counts = {
        all: sum(0),
        read: sum(0, read),
        written: Math.max(0, sum(read, prompt.cachedParts)),
        isHour: prompt.lifetimeMs === 60 * MINUTE_MS,
        isMarked: prompt.isMarked,
      };
      const answer = { ...wire.answer, model, usage: usageOf(body, counts) };
      return Response.json(answer);
    },
  };
}

interface CacheCounts {
  readonly all: number;
  readonly read: number;
  readonly written: number;
  readonly isHour: boolean;
  readonly isMarked: boolean;
}

function usageOf(
  body: JsonObject,
  { all, read, written, isHour, isMarked }: CacheCounts,
): JsonObject {
  if (body.input !== undefined) {
    return {
      input_tokens: all,
      input_tokens_details: { cached_tokens: read },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: all + 2,
    };
  }
  if (isMarked) {
    return {
      input_tokens: all - read - written,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      cache_creation: {
        ephemeral_5m_input_tokens: isHour ? 0 : written,
        ephemeral_1h_input_tokens: isHour ? written : 0,
      },
      output_tokens: 2,
    };
  }
  return {
    prompt_tokens: all,
    prompt_tokens_details: { cached_tokens: read },
    completion_tokens: 2,
    total_tokens: all + 2,
  };
}

function promptOf({ body, wire }: Asked): Prompt {
  const isMarked = "stop_reason" in wire.answer;
  const system = listOf(body.system ?? body.instructions ?? []);
  const messages = listOf(body.messages ?? body.input ?? []);
  const settings = [body.thinking, body.tool_choice, body.prompt_cache_key];
  const all = [
    { tools: listOf(body.tools ?? []) },
    ...system,
    { settings },
    ...messages,
  ];
  const marked = all.findLastIndex((part) =>
    JSON.stringify(part).includes('"cache_control"')
  );
  const text = JSON.stringify(body);
  const isDay = body.prompt_cache_retention === "24h";
  return {
    parts: all.map((part) => JSON.stringify(unmarked(part))),
    cachedParts: !isMarked || body.cache_control !== undefined
      ? all.length
      : marked + 1,
    lifetimeMs: isDay
      ? 1440 * MINUTE_MS
      : (text.includes('"ttl":"1h"') ? 60 : 5) * MINUTE_MS,
    isMarked,
  };
}

function listOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? value : [value];
}

/** Returns content without marks, and with each text as a block. */
function unmarked(value: JsonValue | object | undefined): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => name !== "cache_control").map((
      [name, one],
    ) => [
      name,
      name === "content" && typeof one === "string"
        ? [{ type: "text", text: one }]
        : unmarked(one),
    ]),
  );
}
