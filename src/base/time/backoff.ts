/** The growth of the pauses between attempts. */
interface BackoffOptions {
  /** The first pause, in milliseconds; each further pause is twice as long. */
  readonly firstMs: number;
  /** The longest pause, in milliseconds; default: no maximum. */
  readonly mostMs?: number;
  /** Returns a number from 0 (half of the pause) to 1 (all of it); default: always 1. */
  readonly random?: () => number;
}

/**
 * Returns the pause before the next attempt, in milliseconds.
 *
 * @param failures The number of failed attempts in a row; at least 1.
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
