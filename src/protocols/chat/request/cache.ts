import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { CacheMark } from "../../canonical/answer/block.ts";
import type { CacheSpelling } from "../../dialects/chat_providers.ts";

const SECONDS_BY_WORD: ReadonlyMap<string, number> = new Map([
  ["5m", 300],
  ["30m", 1800],
  ["1h", 3600],
  ["12h", 43_200],
]);

/**
 * Reads the cache mark of a content part, message or tool: OpenAI's `prompt_cache_breakpoint`, or the
 * `cache_control` that many clients send.
 */
export function decodeCache(
  holder: { readonly [key: string]: unknown },
): CacheMark | undefined {
  const mark = holder.cache_control ?? holder.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? SECONDS_BY_WORD.get(mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/** Writes a cache mark as a field to add to a part or tool; nothing for a provider without one. */
export function encodeCache(
  cache: CacheMark | undefined,
  spelling: CacheSpelling | undefined,
): JsonObject {
  if (cache === undefined || spelling === undefined) return {};
  const seconds = cache.ttlSeconds;
  if (spelling === "cache_control") {
    const ttl = seconds === undefined
      ? {}
      : { ttl: seconds > 300 ? "1h" : "5m" };
    return { cache_control: { type: "ephemeral", ...ttl } };
  }
  const ttl = seconds === undefined
    ? {}
    : { ttl: seconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
