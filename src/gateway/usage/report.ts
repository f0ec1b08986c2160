import { deploymentsFor } from "../config/assignment.ts";
import type { Caller, Config, Connection } from "../config/config.ts";
import type { TimeSpan } from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { QuotaService } from "../quotas/service.ts";
import {
  type AmountBound,
  type Bound,
  boundFor,
  type Bounds,
  isOfOne,
  type ShareBound,
} from "./bounds.ts";
import { type DayUsage, readHistory } from "./history.ts";
import { amountState } from "./limiter.ts";
import { isNamed, type QuotaShare, type QuotaShares } from "./quota_share.ts";
import type { createRecentSessions } from "./recent_sessions.ts";
import { type Sums, usedOf } from "./sums.ts";
import { type Holder, spanUntil } from "./tables.ts";
import { readWindows, type WindowUsage } from "./window_usage.ts";

/** The response to `GET /usage` (docs/usage.md#get-usage). */
export interface UsageReport {
  readonly object: "usage";
  /** The token's name. */
  readonly token: string;
  /** The time since which everything is counted, ISO 8601 in UTC. */
  readonly since: string;
  /** The current calendar windows. */
  readonly windows: readonly WindowUsage[];
  /** The usage of each of the last five weeks' days, the oldest first. */
  readonly history: readonly DayUsage[];
  /** The history of each of the token's groups, for all members of the group together. */
  readonly groups: readonly GroupHistory[];
  /** The limits of the token and of its groups, as far as the limits can apply to the token. */
  readonly limits: readonly LimitUsage[];
  /** The known quotas of the token's connections. */
  readonly connections: readonly ConnectionUsage[];
}

/** A limit and its current use; null where a value is unknown. */
interface LimitUsage {
  /** The holder whose usage counts: the token, or its group with all members. */
  readonly scope: "token" | "group";
  readonly group: string | null;
  /** Set when the limit applies to each session of the token separately. */
  readonly per?: "session";
  /**
   * If `per` is set: the client's id of one of the sessions with the least left. Null stands for any session that has
   * used nothing.
   */
  readonly session?: string | null;
  /** The unit `share` is a part of a connection's quota. */
  readonly unit: "requests" | "tokens" | "USD" | "share";
  readonly window: string;
  /** The models that count; null means all. */
  readonly models: readonly string[] | null;
  /** The names of the connections that count; null means all. */
  readonly connections: readonly string[] | null;
  readonly limit: number;
  /** The used amount, including running requests. */
  readonly used: number | null;
  readonly remaining: number | null;
  readonly used_percent: number | null;
  /** ISO 8601 in UTC. */
  readonly starts_at: string | null;
  readonly resets_at: string | null;
}

/** The usage of all members of a group. */
interface GroupHistory {
  readonly name: string;
  readonly history: readonly DayUsage[];
}

/** A connection, and the token's usage of the connection's quota. */
interface ConnectionUsage {
  readonly provider_id: string;
  readonly name: string;
  readonly limits: readonly QuotaUsage[];
}

/** A window of a provider's quota, named as in `GET /limits`. */
interface QuotaUsage {
  readonly type: string;
  readonly window: string;
  /** The usage of all users of the key, as the provider reports it. */
  readonly used_percent: number | null;
  /** An estimate of the usage of this token as a part of the whole window. Null where no estimate is possible. */
  readonly your_percent: number | null;
  /**
   * True when counting began before the window began. If false, `your_percent` lacks the usage before counting began.
   */
  readonly complete: boolean;
  /** ISO 8601 in UTC. */
  readonly starts_at: string | null;
  readonly resets_at: string | null;
}

/** The dependencies of a usage report. */
interface UsageReportOptions {
  readonly sums: Sums;
  readonly bounds: Bounds;
  readonly quotas: Pick<QuotaService, "read">;
  readonly quotaShares: QuotaShares;
  /** The latest sessions of each caller. */
  readonly sessions: Pick<ReturnType<typeof createRecentSessions>, "of">;
  readonly clock: Pick<Clock, "now">;
  /** Returns a signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** The longest wait for quotas, in milliseconds. Quotas that arrive later appear in the next report. */
const QUOTA_WAIT_MS = 1000;

/** The number of sessions that are listed for each limit. */
const MAX_SESSIONS = 5;

/** Further fields of a limit on each session. */
const EACH = { per: "session", session: null } as const;

/** The start and end of a life that has not begun. */
const NO_TIMES = { starts_at: null, resets_at: null } as const;

/** Creates the function that makes reports for tokens. */
export function createUsageReport(
  options: UsageReportOptions,
): (
  caller: Caller,
  config: Config,
  signal?: AbortSignal,
) => Promise<UsageReport> {
  const { sums, bounds, quotas, quotaShares, clock } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));

  async function refreshQuotas(
    caller: Caller,
    config: Config,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const late = deadline(QUOTA_WAIT_MS);
    const end = signal === undefined ? late : AbortSignal.any([late, signal]);
    try {
      quotaShares.learn(await quotas.read(caller, config, end));
    } catch (error) {
      if (signal?.aborted) throw error;
    }
  }

  /** Returns the limits in the order of the configuration. */
  async function readLimitUsages(
    caller: Caller,
    config: Config,
    connections: readonly Connection[],
  ): Promise<readonly LimitUsage[]> {
    const nowMs = clock.now();
    const mayUse = (model: string) =>
      deploymentsFor(model, caller, config) !== undefined;
    const all = await Promise.all(
      bounds.of(caller).map(async (bound) => {
        if (bound.kind === "share") {
          const { connection: name } = bound.limit;
          const connection = connections.find((one) => one.name === name);
          return connection === undefined ? [] : shareUsage(
            bound,
            await quotaShares.of(connection, bound.holder),
          );
        }
        const use = bounds.useAt(bound, nowMs);
        const rest = { window: use.window, connections, mayUse };
        if (!isOfOne(bound)) {
          const own = amountUsage(bound, { ...rest, used: 0 })
            .map((one) => ({ ...one, ...NO_TIMES, ...EACH }));
          return [...own, ...await sessionUsages(bound, caller, rest, options)];
        }
        const [found] = await sums.uses([use]);
        return amountUsage(bound, { ...rest, used: usedOf(found) });
      }),
    );
    return all.flat();
  }

  return async (caller, config, signal) => {
    await refreshQuotas(caller, config, signal);
    const holder: Holder = { kind: "token", name: caller.name };
    const connections = config.connections
      .filter(({ id, enabled }) => enabled && caller.connectionIds.has(id));
    const reading = { sums, nowMs: clock.now() };
    const windows = await readWindows(holder, reading);
    const history = await readHistory(holder, reading);
    const groups = await Promise.all(caller.groups.map(async ({ name }) => ({
      name,
      history: await readHistory({ kind: "group", name }, reading),
    })));
    const limitUsages = await readLimitUsages(caller, config, connections);
    const { sinceMs } = sums;
    return {
      object: "usage",
      token: caller.name,
      since: instant(sinceMs),
      windows,
      history,
      groups,
      limits: limitUsages,
      connections: await Promise.all(connections.map(async (connection) => ({
        provider_id: connection.id,
        name: connection.name,
        limits: (await quotaShares.of(connection, holder))
          .map((share) => quotaUsage(share, sinceMs)),
      }))),
    };
  };
}

/** Returns a limit per session with its use by some of the caller's latest sessions: those with the least left. */
async function sessionUsages(
  bound: AmountBound,
  caller: Caller,
  rest: Omit<Parameters<typeof amountUsage>[1], "used">,
  { sums, bounds, sessions, clock }: UsageReportOptions,
): Promise<readonly LimitUsage[]> {
  const nowMs = clock.now();
  const own = sessions.of(caller.name).flatMap((session) => {
    const one = boundFor(bound, caller, session);
    return one === undefined
      ? []
      : [{ session, use: bounds.useAt(one, nowMs) }];
  });
  const uses = await sums.uses(own.map(({ use }) => use));
  return own.flatMap(({ session, use: { window } }, index) => {
    const used = usedOf(uses[index]);
    if (used === 0) return [];
    const endMs = uses[index]?.endsAtMs ?? window.endMs;
    const span = spanUntil(bound.limit.window, endMs);
    return amountUsage(bound, { ...rest, window: span, used })
      .map((one) => ({ ...one, ...EACH, session }));
  }).sort((one, other) => (other.used ?? 0) - (one.used ?? 0))
    .slice(0, MAX_SESSIONS);
}

/**
 * Returns a limit on an amount. Leaves out models and connections that a group's limit counts but the token does not
 * have.
 */
function amountUsage(
  bound: AmountBound,
  { window, used, connections, mayUse }: {
    readonly window: TimeSpan;
    readonly used: number;
    /** The token's own connections. */
    readonly connections: readonly Connection[];
    /** Returns true when the token may use a model. */
    readonly mayUse: (model: string) => boolean;
  },
): readonly LimitUsage[] {
  const { limit } = bound;
  const own = connections.map(({ name }) => name);
  const models = limit.models?.filter(mayUse);
  const through = limit.connections?.filter((name) => own.includes(name));
  if (models?.length === 0 || through?.length === 0) return [];
  const { ratio } = amountState(bound, window.endMs, used);
  const isCost = limit.unit === "cost";
  const scale = isCost ? NANOS_PER_DOLLAR : 1;
  return [{
    ...scopeOf(bound),
    unit: isCost ? "USD" : limit.unit,
    window: limit.window,
    models: models ?? null,
    connections: through ?? null,
    limit: limit.most / scale,
    used: used / scale,
    remaining: Math.max(0, limit.most - used) / scale,
    used_percent: Number.isFinite(ratio) ? percent(ratio) : null,
    starts_at: instant(window.startMs),
    resets_at: instant(window.endMs),
  }];
}

/**
 * Returns one entry for each window that the limit names. If no such window is known, returns one entry without
 * numbers.
 */
function shareUsage(
  bound: ShareBound,
  shares: readonly QuotaShare[],
): readonly LimitUsage[] {
  const { limit } = bound;
  const named = shares.filter(({ window }) => isNamed(window, limit.window));
  const entry = (share: QuotaShare | undefined): LimitUsage => ({
    ...scopeOf(bound),
    unit: "share",
    window: limit.window,
    models: null,
    connections: [limit.connection],
    limit: limit.share,
    used: rounded(share?.used),
    remaining: rounded(
      share?.used === undefined
        ? undefined
        : Math.max(0, limit.share - share.used),
    ),
    used_percent: share?.used === undefined || limit.share === 0
      ? null
      : percent(share.used / limit.share),
    starts_at: share?.span === undefined ? null : instant(share.span.startMs),
    resets_at: share?.window.resets_at ?? null,
  });
  return named.length === 0 ? [entry(undefined)] : named.map(entry);
}

function scopeOf({ holder }: Bound): Pick<LimitUsage, "scope" | "group"> {
  return holder.kind === "group"
    ? { scope: "group", group: holder.name }
    : { scope: "token", group: null };
}

function quotaUsage(
  { window, span, used }: QuotaShare,
  sinceMs: number,
): QuotaUsage {
  return {
    type: window.type,
    window: window.window,
    used_percent: window.used_percent,
    your_percent: used === undefined ? null : percent(used),
    complete: span !== undefined && sinceMs <= span.startMs,
    starts_at: span === undefined ? null : instant(span.startMs),
    resets_at: window.resets_at,
  };
}

function rounded(share: number | undefined): number | null {
  return share === undefined ? null : Math.round(share * 10_000) / 10_000;
}

/** Returns a percentage, rounded to a hundredth. */
function percent(ratio: number): number {
  return Math.round(ratio * 10_000) / 100;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
