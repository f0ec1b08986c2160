import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { CacheMark } from "../../canonical/content/block.ts";
import { countCacheMarks } from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";

/** The lifetimes of a cached prefix, in seconds. An hour is the longest that a provider offers. */
const SHORT_SECONDS = 300;
const LONG_SECONDS = 3600;

/** Parses the `cache_control` of a block, tool or request. */
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

/** Returns the field for a cache mark, to add to a block, tool or request. Returns no field if there is no mark. */
export function encodeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const seconds = cache.ttlSeconds;
  const ttl = seconds === undefined
    ? {}
    : { ttl: seconds > SHORT_SECONDS ? "1h" : "5m" };
  return { cache_control: { type: "ephemeral", ...ttl } };
}

/** The parts of a request's prefix that can hold marks. */
interface Prefix<Message> {
  readonly system: readonly JsonObject[];
  readonly messages: readonly Message[];
}

/**
 * The number of user messages at the end that get a mark. After long answers, the second mark finds the cache entry of
 * the previous request.
 */
const MARKED_MESSAGES = 2;

/**
 * Marks the prefix of a request with a cache key if the caller set no marks. OpenAI caches prefixes by itself, but
 * Claude caches only marked prefixes: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 *
 * @param most The most marks that the provider accepts in one request.
 */
export function markKeyedPrefix<
  Message extends { readonly role: string; readonly content: JsonObject[] },
>(
  request: CanonicalRequest,
  { system, messages }: Prefix<Message>,
  most: number,
): Prefix<Message> {
  const hasOwn = request.cache !== undefined || countCacheMarks(request) > 0;
  if (request.cacheKey === undefined || hasOwn || most <= MARKED_MESSAGES) {
    return { system, messages };
  }
  const users = messages.filter(({ role }) => role === "user")
    .slice(-MARKED_MESSAGES);
  return {
    system: markLast(system),
    messages: messages.map((message) =>
      users.includes(message)
        ? { ...message, content: markLast(message.content) }
        : message
    ),
  };
}

function markLast(blocks: readonly JsonObject[]): JsonObject[] {
  return blocks.map((block, index) =>
    index === blocks.length - 1 ? { ...block, ...encodeCache({}) } : block
  );
}

/** Writes the marks of one request in the order of its prefix: tools, system, messages. */
export interface CacheWriter {
  /**
   * Writes a mark as {@linkcode encodeCache} does. If there are too many marks, leaves out the first marks, because the
   * prefix of a later mark includes the prefixes of earlier marks.
   */
  write(cache: CacheMark | undefined): JsonObject;
}

/**
 * Creates a writer for the marks of `request`.
 *
 * @param most The most marks that the provider accepts in one request, including the automatic one.
 */
export function createCacheWriter(
  request: CanonicalRequest,
  most: number,
): CacheWriter {
  const room = most - (request.cache === undefined ? 0 : 1);
  let toSkip = Math.max(0, countCacheMarks(request) - room);
  return {
    write(cache) {
      if (cache === undefined) return {};
      if (toSkip === 0) return encodeCache(cache);
      toSkip--;
      return {};
    },
  };
}
