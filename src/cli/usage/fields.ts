import type { Sums } from "./totals.ts";

/**
 * Sums under the names that they have in JSON and CSV. A cost is null where no request had a price.
 *
 * @example
 * ```ts
 * import { createTotals } from "./totals.ts";
 * import { sumFields } from "./fields.ts";
 *
 * const { total } = createTotals(["token"]).finish();
 * if (sumFields(total).cost_usd !== null) throw new Error();
 * ```
 */
export function sumFields(sums: Sums): Readonly<Record<string, number | null>> {
  return {
    requests: sums.requests,
    errors: sums.errors,
    input_tokens: sums.inputTokens,
    cached_input_tokens: sums.cachedInputTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    output_tokens: sums.outputTokens,
    reasoning_tokens: sums.reasoningTokens,
    cost_usd: sums.pricedUses === 0 ? null : roundCost(sums.costUsd),
    unpriced_requests: sums.unpricedRequests,
    estimated_tokens: sums.estimatedTokens,
  };
}

/** What adding up in floating point leaves behind the ninth digit is no money. */
function roundCost(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}
