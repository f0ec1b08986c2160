/** How pauses grow. */
interface BackoffOptions {
  /** The first pause, in milliseconds; each further one is twice as long. */
  readonly firstMs: number;
  /** The longest pause, in milliseconds; default: there is none. */
  readonly mostMs?: number;
  /** From 0 to 1, for a pause between half of its length and the whole; default: the whole. */
  readonly random?: () => number;
}

/**
 * The pause before another try, in milliseconds.
 *
 * @param failures How many tries in a row have failed; at least 1.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const options = { firstMs: 100, mostMs: 500 };
 * const pauses = [1, 2, 3, 4].map((failures) => backoffMs(failures, options));
 * assert.deepEqual(pauses, [100, 200, 400, 500]);
 * ```
 */
export function backoffMs(
  failures: number,
  { firstMs, mostMs = Infinity, random = () => 1 }: BackoffOptions,
): number {
  const pauseMs = Math.min(firstMs * 2 ** (failures - 1), mostMs);
  return pauseMs * (1 + random()) / 2;
}
