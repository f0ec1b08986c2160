import type { Caller, Config } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import type { Clock } from "../core/time/clock.ts";
import type { LimitsService } from "../limits/service.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { boundLabel, createBounds } from "./bounds.ts";
import { createCounting } from "./counting.ts";
import {
  createLimiter,
  type LimitRefusal,
  type LimitState,
} from "./limiter.ts";
import { createNearLog } from "./near_log.ts";
import { createUsageReport, type UsageReport } from "./report.ts";
import { createQuotaShares } from "./quota_share.ts";
import type { Sums } from "./sums.ts";
import { openTally, type Tally, type TallyRequest } from "./tally.ts";

/** Counts what tokens use, and holds them to their limits. */
export interface UsageService {
  /** Begins to count a request. */
  open(request: TallyRequest): Tally;
  /** Told of a request that a limit did not let through. */
  refused(refusal: LimitRefusal, caller: Caller): void;
  /** Told of a request that brought limits near their end. */
  near(states: readonly LimitState[], caller: Caller): void;
  /**
   * What a token used, and may use yet.
   *
   * @param signal Aborted when the caller leaves.
   */
  report(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<UsageReport>;
}

/** What {@linkcode createUsageService} needs. */
export interface UsageServiceOptions {
  readonly sums: Sums;
  readonly store: ConfigStore;
  readonly limits: Pick<LimitsService, "known" | "read">;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly clock: Clock;
  /** A signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Counts from now on. */
export function createUsageService(
  options: UsageServiceOptions,
): UsageService {
  const { sums, store, limits, metrics, clock } = options;
  const bounds = createBounds(store);
  const counting = createCounting(sums);
  const quotaShares = createQuotaShares(options);
  const refreshQuotas = (caller: Caller) =>
    void limits.read(caller, store.current()).then(quotaShares.learn, ignore);
  const limiter = createLimiter({
    ...options,
    bounds,
    quotaShares,
    refreshQuotas,
  });
  const nearLog = createNearLog(options);
  const report = createUsageReport({ ...options, bounds, quotaShares });

  /** Limits that a reload changed count what is running, too. */
  function current(caller: Caller): Caller {
    const found = store.current().callers.get(caller.sha256);
    return found?.name === caller.name ? found : caller;
  }

  const tallyOptions = {
    sums,
    counting,
    limiter,
    current,
    now: () => clock.now(),
  };
  return {
    open: (request) => openTally(request, tallyOptions),
    refused: ({ bound }, caller) =>
      metrics?.limited({
        token: caller.name,
        limit: boundLabel(bound),
        outcome: "refused",
      }),
    near: nearLog.note,
    report,
  };
}

/** What a quota cannot tell now it tells later; the poller has logged why. */
function ignore(): void {}
