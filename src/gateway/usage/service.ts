import type { Caller, Config } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { QuotaService } from "../quotas/service.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics, UsageState } from "../observe/metrics.ts";
import { type Bound, boundLabel, createBounds } from "./bounds.ts";
import { createCounting } from "./counting.ts";
import { readCurrentUse } from "./current_use.ts";
import {
  createLimiter,
  type LimitRefusal,
  type LimitState,
} from "./limiter.ts";
import { createQuotaShares } from "./quota_share.ts";
import { createUsageReport, type UsageReport } from "./report.ts";
import type { Sums } from "./sums.ts";
import { holderText } from "./tables.ts";
import { openTally, type Tally, type TallyRequest } from "./tally.ts";

/** Counts the usage of tokens and enforces their limits. */
export interface UsageService {
  /** Starts to count a request. */
  open(request: TallyRequest): Tally;
  /** Counts a request that a limit rejected. */
  refused(refusal: LimitRefusal, caller: Caller): void;
  /** Reports limits that a request nearly used up. */
  near(states: readonly LimitState[], caller: Caller): void;
  /**
   * Returns the usage of a token and its limits.
   *
   * @param signal Aborted when the caller leaves.
   */
  report(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<UsageReport>;
  /** Returns the use of every limit, for the metrics. */
  current(config: Config): Promise<UsageState>;
}

interface UsageServiceOptions {
  readonly sums: Sums;
  readonly liveConfig: LiveConfig;
  /** Returns a caller of an identity provider in the current configuration; default: the same caller. */
  readonly currentIdentity?: (caller: Caller) => Caller;
  readonly quotas: Pick<QuotaService, "known" | "read">;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly clock: Clock;
  /** Returns a signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Creates the service. */
export function createUsageService(
  options: UsageServiceOptions,
): UsageService {
  const { sums, liveConfig, quotas, metrics, clock } = options;
  const bounds = createBounds(liveConfig);
  const counting = createCounting(sums);
  const quotaShares = createQuotaShares(options);
  const refreshQuotas = (caller: Caller) =>
    void quotas.read(caller, liveConfig.current()).then(
      quotaShares.learn,
      ignore,
    );
  const limiter = createLimiter({
    ...options,
    bounds,
    quotaShares,
    refreshQuotas,
  });
  const report = createUsageReport({ ...options, bounds, quotaShares });

  /**
   * Returns the caller in the current configuration, so that limits changed by a reload count running requests, too.
   */
  function current(caller: Caller): Caller {
    const found = liveConfig.current().callers.get(caller.sha256);
    if (found?.name === caller.name) return found;
    return options.currentIdentity?.(caller) ?? caller;
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
    near: createNearLog(options),
    report,
    current: (config) =>
      readCurrentUse(config, { sums, bounds, quotaShares, clock }),
  };
}

/** Ignores a quota that cannot be read now; the poller has logged the reason. */
function ignore(): void {}

/** Reset times of one window differ by less than half of this, in milliseconds: providers' times vary by seconds. */
const SAME_WINDOW_MS = 30_000;

/** Creates the function that reports limits which are nearly used up, each once per window. */
function createNearLog(
  { log, metrics, sums }: {
    readonly log: Log;
    readonly metrics?: Metrics | undefined;
    readonly sums: Pick<Sums, "once">;
  },
): UsageService["near"] {
  /** The reset time of the last reported window of each limit. */
  const noted = new WeakMap<Bound, number>();

  /** Returns true when no other thread or replica has reported the window. */
  async function isFirst({ bound, resetsAtMs }: LimitState): Promise<boolean> {
    const { holder, limit } = bound;
    const allowed = limit.kind === "share" ? limit.share : limit.most;
    const what = [holderText(holder), boundLabel(bound), allowed].join("\t");
    const place = Math.floor(2 * resetsAtMs / SAME_WINDOW_MS - 0.5);
    // One after the other, so that of several simultaneous callers exactly one gets both names.
    for (const half of [place, place + 1]) {
      const name = `near\t${what}\t${half}`;
      if (!await sums.once(name, resetsAtMs)) return false;
    }
    return true;
  }

  async function write(state: LimitState, caller: Caller): Promise<void> {
    if (!await isFirst(state)) return;
    const { bound, ratio, resetsAtMs } = state;
    const { holder, limit } = bound;
    log.write("limit_near", {
      token: caller.name,
      group: holder.kind === "group" ? holder.name : undefined,
      limit: limitWords(limit),
      used_percent: Math.floor(ratio * 100),
      resets_at: new Date(resetsAtMs).toISOString(),
    });
    metrics?.limited({
      token: caller.name,
      limit: boundLabel(bound),
      outcome: "near",
    });
  }

  return (states, caller) => {
    for (const state of states) {
      const { bound, resetsAtMs } = state;
      if (resetsAtMs - (noted.get(bound) ?? 0) < SAME_WINDOW_MS) continue;
      noted.set(bound, resetsAtMs);
      write(state, caller);
    }
  };
}
