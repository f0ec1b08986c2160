import type { Addition, Sum } from "../../../src/gateway/usage/sums.ts";

/** Creates an addition to one sum. */
export function to({ field, ...place }: Sum, amount: number): Addition {
  return { ...place, amounts: [{ field, amount }] };
}
