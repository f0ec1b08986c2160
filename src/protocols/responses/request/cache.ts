import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import type { CacheMark } from "../../canonical/answer/block.ts";

const SECONDS_BY_WORD: Readonly<Record<string, number>> = {
  "30m": 1800,
  "12h": 43_200,
};

/** Reads the `prompt_cache_breakpoint` of a content part. */
export function decodeCache(part: JsonObject): CacheMark | undefined {
  const mark = part.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? lookup(SECONDS_BY_WORD, mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/** Writes a cache mark as a field to add to a part. */
export function encodeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const { ttlSeconds } = cache;
  const ttl = ttlSeconds === undefined
    ? {}
    : { ttl: ttlSeconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
