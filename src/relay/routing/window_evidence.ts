import type { Connection } from "../../config/config.ts";
import { saneWaitMs } from "../../core/retry_after.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Harvest } from "../../limits/harvest.ts";
import { isUsedUp } from "../../limits/window.ts";
import { type AttemptFailure, isLimit } from "../attempt_failure.ts";

/** What is known of a connection's quota. */
export interface QuotaKnowledge {
  readonly harvest: Harvest;
  readonly clock: Clock;
}

/** How old a window may be to belong to the answer in hand, in milliseconds. */
const FRESH_MS = 1000;

/**
 * Tells a used-up window from a burst that was too fast, where a 429 does not say how long to wait: by the windows in
 * the headers of the same answer.
 */
export function withWindow(
  failure: AttemptFailure,
  connection: Connection,
  { harvest, clock }: QuotaKnowledge,
): AttemptFailure {
  if (!isLimit(failure) || failure.retryAfterMs !== undefined) return failure;
  const reading = harvest.reading(connection);
  const nowMs = clock.now();
  if (reading === undefined || nowMs - reading.checkedAtMs > FRESH_MS) {
    return failure;
  }
  const waitMs = Math.max(
    ...reading.windows.filter(isUsedUp).map(({ resets_at }) =>
      saneWaitMs(Date.parse(resets_at ?? "") - nowMs) ?? 0
    ),
  );
  return waitMs > 0
    ? { ...failure, kind: "quota", retryAfterMs: waitMs }
    : failure;
}
