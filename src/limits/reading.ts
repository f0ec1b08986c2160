import type { QuotaFailure } from "./failure.ts";
import type { QuotaWindow } from "./window.ts";

/** What was learned of a connection's quota, and when. */
export type Reading = GoodReading | FailedReading;

/** The windows that the provider told. */
export interface GoodReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly windows: readonly QuotaWindow[];
}

/** Why there are none. */
export interface FailedReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly failure: QuotaFailure;
}

/** Whether the provider told its windows. */
export function isGood(reading: Reading): reading is GoodReading {
  return "windows" in reading;
}
