import type { Caller, Connection } from "../../config/config.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { LimitsService } from "../../limits/service.ts";
import { isUsedUp } from "../../limits/window.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import type { FailedAttempt } from "../next_attempts.ts";
import type { Candidates } from "./candidates.ts";
import type { Health } from "./health.ts";

/** What tells a quota that is used up from a burst that was too fast. */
export interface SpentEvidence {
  readonly health: Pick<Health, "restMs">;
  readonly limits: Pick<LimitsService, "known">;
  readonly clock: Clock;
}

/**
 * Cooling down takes a quarter of a minute at most, so that whoever is left alone for longer is so because the
 * provider said when it may be asked again; and no SDK waits longer than this by itself.
 */
const LONG_MS = 60_000;

/**
 * When the first connection that could serve a request has something left again, where nothing of all of them is: each
 * is left alone for a minute or longer yet.
 *
 * @param failed What this request has asked, each with how long it said to wait.
 * @returns Milliseconds since 1970; `undefined` while one may be asked, or soon.
 */
export function spentUntilMs(
  { own, fallbacks }: Candidates,
  { caller, failed }: {
    readonly caller: Caller;
    readonly failed: readonly FailedAttempt[];
  },
  { health, limits, clock }: SpentEvidence,
): number | undefined {
  let firstMs = Infinity;
  for (const candidate of [...own, ...fallbacks]) {
    const { deployment } = candidate;
    const restMs = health.restMs(deployment, caller);
    if (restMs < LONG_MS) return undefined;
    // A connection is asked again after an hour, whatever it said.
    const last = failed.findLast((one) => one.candidate === candidate);
    const waitMs = Math.max(restMs, last?.failure.retryAfterMs ?? 0);
    const resetMs = usedUpUntilMs(deployment.connection, limits);
    firstMs = Math.min(firstMs, Math.max(clock.now() + waitMs, resetMs));
  }
  return firstMs;
}

/** When the last window that is used up begins anew. */
function usedUpUntilMs(
  connection: Connection,
  limits: Pick<LimitsService, "known">,
): number {
  const resets = limits.known(connection).filter(isUsedUp)
    .map(({ resets_at }) => Date.parse(resets_at ?? ""))
    .filter((ms) => !Number.isNaN(ms));
  return Math.max(0, ...resets);
}

/**
 * The failure for a caller whose connections have nothing left: a 429 that clients know as one that no repetition
 * helps against before that time.
 *
 * @param untilMs Milliseconds since 1970.
 * @param cause What a provider said, if one was asked.
 */
export function spentFailure(
  untilMs: number,
  nowMs: number,
  cause?: Failure | undefined,
): UpstreamFailure {
  const words = cause?.message ??
    "Every connection that has the model has used up its quota";
  return new UpstreamFailure({
    ...cause,
    kind: "rate_limited",
    status: 429,
    message: `${words.replace(/\.$/, "")}. It is available again at ${
      new Date(untilMs).toISOString().replace(/:\d\d\.\d{3}Z$/, " UTC")
        .replace("T", " ")
    }`,
    code: cause?.code ?? "quota_used_up",
    retryAfterMs: untilMs - nowMs,
    resetsAtMs: untilMs,
  });
}
