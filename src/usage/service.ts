import type { Caller, Config } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { Clock } from "../core/time/timers.ts";
import type { QuotaService } from "../quotas/service.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type Bound, boundLabel, createBounds } from "./bounds.ts";
import { createCounting } from "./counting.ts";
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
  readonly quotas: Pick<QuotaService, "known" | "read">;
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
  const { sums, store, quotas, metrics, clock } = options;
  const bounds = createBounds(store);
  const counting = createCounting(sums);
  const quotaShares = createQuotaShares(options);
  const refreshQuotas = (caller: Caller) =>
    void quotas.read(caller, store.current()).then(quotaShares.learn, ignore);
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

/** Reports limits that are nearly used up, each once a window. */
interface NearLog {
  note(states: readonly LimitState[], caller: Caller): void;
}

/**
 * Two moments less than half of this apart are the reset of one window, in milliseconds: a provider does not always
 * name the same second.
 */
const SAME_WINDOW_MS = 30_000;

/** Creates a log in which nothing was written yet. */
function createNearLog(
  { log, metrics, sums }: {
    readonly log: Log;
    readonly metrics?: Metrics | undefined;
    readonly sums: Pick<Sums, "once">;
  },
): NearLog {
  /** When the window resets that was noted last. */
  const noted = new WeakMap<Bound, number>();

  /** Whether no other thread or replica that counts with this one has noted the window. */
  async function isFirst({ bound, resetsAtMs }: LimitState): Promise<boolean> {
    const { holder, limit } = bound;
    const allowed = limit.kind === "share" ? limit.share : limit.most;
    const what = [holderText(holder), boundLabel(bound), allowed].join("\t");
    const place = Math.floor(2 * resetsAtMs / SAME_WINDOW_MS - 0.5);
    // One after the other, so that of several at once exactly one gets both.
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

  return {
    note(states, caller) {
      for (const state of states) {
        const { bound, resetsAtMs } = state;
        if (resetsAtMs - (noted.get(bound) ?? 0) < SAME_WINDOW_MS) continue;
        noted.set(bound, resetsAtMs);
        write(state, caller);
      }
    },
  };
}
