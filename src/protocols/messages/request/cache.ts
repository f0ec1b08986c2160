import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { CacheMark } from "../../canonical/content/block.ts";
import { countCacheMarks } from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";

/** Lifetimes of a cached prefix; the longest that an upstream offers is an hour. */
const SHORT_SECONDS = 300;
const LONG_SECONDS = 3600;

/** Most marks that upstreams take in one request, the automatic one included. */
const MAX_MARKS = 4;

/** Reads the `cache_control` of a block, tool or request. */
export function decodeCache(holder: JsonObject): CacheMark | undefined {
  const mark = holder.cache_control;
  if (!isJsonObject(mark)) return undefined;
  switch (mark.ttl) {
    case "5m":
      return { ttlSeconds: SHORT_SECONDS };
    case "1h":
      return { ttlSeconds: LONG_SECONDS };
    default:
      return {};
  }
}

/** Writes a cache mark as a field to add to its holder; nothing where there is none. */
export function encodeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const seconds = cache.ttlSeconds;
  const ttl = seconds === undefined
    ? {}
    : { ttl: seconds > SHORT_SECONDS ? "1h" : "5m" };
  return { cache_control: { type: "ephemeral", ...ttl } };
}

/** Writes the marks of one request in the order of its prefix: tools, system, messages. */
export interface CacheWriter {
  /** How many marks are left out because upstreams refuse more than four. */
  readonly surplus: number;
  /** As {@linkcode encodeCache}; the first marks of a surplus are left out, as later ones cover them. */
  write(cache: CacheMark | undefined): JsonObject;
}

/** A writer for the marks of `request`. */
export function createCacheWriter(request: CanonicalRequest): CacheWriter {
  const room = MAX_MARKS - (request.cache === undefined ? 0 : 1);
  const surplus = Math.max(0, countCacheMarks(request) - room);
  let toSkip = surplus;
  return {
    surplus,
    write(cache) {
      if (cache === undefined) return {};
      if (toSkip === 0) return encodeCache(cache);
      toSkip--;
      return {};
    },
  };
}
