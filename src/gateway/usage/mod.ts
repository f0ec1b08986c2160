export { PRICE_NAMES, pricesFor, tokensByPrice } from "./counts.ts";
export type { UsageReport } from "./report.ts";
export { isFormOf } from "./tally.ts";
export type { WindowUsage } from "./window_usage.ts";
