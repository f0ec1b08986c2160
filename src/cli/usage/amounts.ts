import { type Sums, tokensOf } from "./totals.ts";

const EXACT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 3,
});

/** From here on three digits are told. */
const LARGE = 100_000;

/** A number that fits into a column: `99,999`, `100K`, `1.23B`. */
export function countText(count: number): string {
  return (count < LARGE ? EXACT : SHORT).format(count);
}

const DOLLARS = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
});
const PARTS_OF_A_CENT = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  maximumSignificantDigits: 2,
});

/** What requests cost: `$1,234.50`, `$0.0012`; with `+` where some had no price; `–` where all had none. */
export function costText(
  { costUsd, pricedUses, unpricedRequests }: Sums,
): string {
  if (pricedUses === 0) return "–";
  const format = costUsd > 0 && costUsd < 0.01 ? PARTS_OF_A_CENT : DOLLARS;
  return format.format(costUsd) + (unpricedRequests > 0 ? "+" : "");
}

/** Which share of the tokens the gateway has estimated: `2%`; empty where it is none. */
export function estimatedText(sums: Sums): string {
  const { estimatedTokens } = sums;
  if (estimatedTokens === 0) return "";
  const percent = 100 * estimatedTokens / tokensOf(sums);
  return percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}
