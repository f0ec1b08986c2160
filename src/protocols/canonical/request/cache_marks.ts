import type { Loss } from "./loss.ts";
import type { CanonicalRequest } from "./request.ts";

/** How many of a request's tools and blocks carry a cache mark. */
export function countCacheMarks({ tools, turns }: CanonicalRequest): number {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  return [...tools, ...blocks, ...inner].filter((holder) =>
    "cache" in holder && holder.cache !== undefined
  ).length;
}

/**
 * Reports the cache marks of a request to a provider that has none: it caches by itself or not at all.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseCacheMarks(
  request: CanonicalRequest,
  losses: { lose(loss: Loss): void },
): void {
  if (request.cache === undefined && countCacheMarks(request) === 0) return;
  losses.lose({
    field: "cache",
    weight: "hint",
    reason: "this model's provider cannot be told what to cache",
  });
}
