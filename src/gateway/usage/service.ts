import type { Caller, Config } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import type { QuotaService } from "../quotas/service.ts";
import type { Log } from "../observe/log.ts";
import type { HttpClient } from "@gateway/http1";
import type { Metrics, UsageState } from "../observe/metrics.ts";
import { createAlertSender } from "./alert_sender.ts";
import { createAlerts, isFirst, SAME_WINDOW_MS, sameMsOf } from "./alerts.ts";
import { type Bound, boundLabel, createBounds } from "./bounds.ts";
import { createCounting, perSession } from "./counting.ts";
import { readCurrentUse } from "./current_use.ts";
import {
  createLimiter,
  type LimitRefusal,
  type LimitState,
} from "./limiter.ts";
import { createQuotaShares } from "./quota_share.ts";
import { createRecentSessions, type SessionNews } from "./recent_sessions.ts";
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
  /** Notes the limits of a request that was admitted, for alerts. */
  watch(states: readonly LimitState[], caller: Caller): void;
  /** Sends the alerts that wait, before the end of the process. */
  drainAlerts(): Promise<void>;
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
  /** Notes a session of another thread. */
  follow(news: SessionNews): void;
  /** Returns the use of every limit, for the metrics. */
  current(config: Config): Promise<UsageState>;
}

interface UsageServiceOptions {
  readonly sums: Sums;
  readonly liveConfig: LiveConfig;
  /**
   * Returns a caller of an identity provider with the settings of the current configuration; default: the caller as it
   * is.
   */
  readonly currentIdentity?: (caller: Caller) => Caller;
  readonly quotas: Pick<QuotaService, "known" | "read">;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Reaches the receiver of alerts; absent when no alerts are sent. */
  readonly client?: HttpClient | undefined;
  readonly deadlines?: Deadlines | undefined;
  /** Sends new sessions to the other threads. */
  readonly publish?: ((news: SessionNews) => void) | undefined;
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
  const sessions = createRecentSessions(options.publish);
  const report = createUsageReport({
    ...options,
    ...{ bounds, quotaShares, sessions },
  });

  /**
   * Returns the caller in the current configuration, so that limits changed by a reload count running requests, too.
   */
  function current(caller: Caller): Caller {
    const found = liveConfig.current().callers.get(caller.sha256);
    if (found?.name === caller.name) return found;
    return options.currentIdentity?.(caller) ?? caller;
  }

  const { client, deadlines } = options;
  const sender = client && deadlines &&
    createAlertSender({ ...options, client, deadlines });
  const alerts = sender && createAlerts({
    ...{ liveConfig, sums, sender, now: () => clock.now() },
  });
  /** The time of the last reading for each caller, in milliseconds since the start. */
  const readAt = new WeakMap<Caller, number>();

  function watch(states: readonly LimitState[], caller: Caller): void {
    const config = liveConfig.current();
    if (alerts === undefined || config.alerts === undefined) return;
    alerts.noteLimits(states, caller);
    const nowMs = clock.elapsedMs();
    if (nowMs - (readAt.get(caller) ?? -Infinity) < QUOTA_READ_MS) return;
    readAt.set(caller, nowMs);
    quotas.read(caller, config).then(alerts.noteQuotas, ignore);
  }

  const tallyOptions = {
    sums,
    counting,
    limiter,
    current,
    now: () => clock.now(),
  };
  return {
    open(request) {
      const { caller, record } = request;
      const session = record.facts.client?.session;
      if (session !== undefined && perSession(caller).length > 0) {
        sessions.note({ caller: caller.name, session });
      }
      return openTally(request, tallyOptions);
    },
    follow: sessions.follow,
    refused(refusal, caller) {
      const { bound, isHeld, ratio } = refusal;
      metrics?.limited({
        token: caller.name,
        limit: boundLabel(bound),
        outcome: "refused",
      });
      // Hardly any other request fits into the limit, so alerts show the limit as used up.
      const isFull = !isHeld && ratio >= NEARLY_FULL;
      if (isFull) watch([{ ...refusal, ratio: Math.max(1, ratio) }], caller);
    },
    watch,
    async drainAlerts() {
      await alerts?.settled();
      await sender?.drain();
    },
    near: createNearLog(options),
    report,
    current: (config) =>
      readCurrentUse(config, { sums, bounds, quotaShares, clock }),
  };
}

/** The interval between readings of a caller's quotas for alerts, in milliseconds. */
const QUOTA_READ_MS = 60_000;

/** When a limit refuses a request at this ratio or above, alerts show the limit as used up. */
const NEARLY_FULL = 0.95;

/** Ignores that a quota cannot be read now: the poller has logged the reason. */
function ignore(): void {}

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
  function isNew({ bound, resetsAtMs }: LimitState): Promise<boolean> {
    const { holder, limit } = bound;
    const allowed = limit.kind === "share" ? limit.share : limit.most;
    const what = [holderText(holder), boundLabel(bound), allowed].join("\t");
    return isFirst(`near\t${what}`, resetsAtMs, {
      sums,
      sameMs: sameMsOf(bound),
    });
  }

  async function write(state: LimitState, caller: Caller): Promise<void> {
    if (!await isNew(state)) return;
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
