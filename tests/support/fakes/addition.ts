import type { Addition, Sum } from "../../../src/gateway/usage/sums.ts";

/** Creates an addition to one sum. */
export function to({ table, field, endsAtMs }: Sum, amount: number): Addition {
  return { table, endsAtMs, amounts: [{ field, amount }] };
}
