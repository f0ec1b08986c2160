import { deploymentsFor } from "../config/assignment.ts";
import type { Caller, Config, Connection } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import type { LimitsService } from "../limits/service.ts";
import type { AmountBound, Bound, Bounds, ShareBound } from "./bounds.ts";
import type { Counting } from "./counting.ts";
import { amountState } from "./limiter.ts";
import { isNamed, type QuotaShare, type QuotaShares } from "./quota_share.ts";
import type { Sums } from "./sums.ts";
import type { Holder } from "./tables.ts";
import { readWindows, type WindowUsage } from "./window_usage.ts";

/** What `GET /usage` answers (docs/usage.md#get-usage). */
export interface UsageReport {
  readonly object: "usage";
  /** The token's name. */
  readonly token: string;
  /** From when on everything is counted, ISO 8601 in UTC. */
  readonly since: string;
  /** The windows of the calendar that run now. */
  readonly windows: readonly WindowUsage[];
  /** What the token may use, and its group, as far as it can bind the token. */
  readonly limits: readonly LimitUsage[];
  /** The quotas of the token's connections, as far as they are known. */
  readonly connections: readonly ConnectionUsage[];
}

/** A limit and how far it is used. What cannot be known is null. */
export interface LimitUsage {
  /** Whose use counts: the token's, or that of all members of its group. */
  readonly scope: "token" | "group";
  readonly group: string | null;
  /** Of `share` the part of a connection's quota. */
  readonly unit: "requests" | "tokens" | "USD" | "share";
  readonly window: string;
  /** The models that count; null means all. */
  readonly models: readonly string[] | null;
  /** The names of the connections that count; null means all. */
  readonly connections: readonly string[] | null;
  readonly limit: number;
  /** What runs included. */
  readonly used: number | null;
  readonly remaining: number | null;
  readonly used_percent: number | null;
  /** ISO 8601 in UTC. */
  readonly starts_at: string | null;
  readonly resets_at: string | null;
}

/** A connection and what the token used of its quota. */
export interface ConnectionUsage {
  readonly provider_id: string;
  readonly name: string;
  readonly limits: readonly QuotaUsage[];
}

/** A window of a provider's quota, named as `GET /limits` names it. */
export interface QuotaUsage {
  readonly type: string;
  readonly window: string;
  /** By everybody, as the provider says. */
  readonly used_percent: number | null;
  /** By this token, of the whole window; an estimate, and null where there is none. */
  readonly your_percent: number | null;
  /** Whether everything since the window's start is counted; else `your_percent` leaves out what was used before. */
  readonly complete: boolean;
  /** ISO 8601 in UTC. */
  readonly starts_at: string | null;
  readonly resets_at: string | null;
}

/** What {@linkcode createUsageReport} needs. */
export interface UsageReportOptions {
  readonly sums: Sums;
  readonly bounds: Bounds;
  readonly counting: Pick<Counting, "sinceMs">;
  readonly limits: Pick<LimitsService, "read">;
  readonly quotaShares: QuotaShares;
  readonly clock: Pick<Clock, "now">;
  /** A signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** How long quotas may take; what is not there by then is there for the next who asks. */
const QUOTA_WAIT_MS = 1000;

/** Makes reports for tokens of the configuration. */
export function createUsageReport(
  options: UsageReportOptions,
): (
  caller: Caller,
  config: Config,
  signal?: AbortSignal,
) => Promise<UsageReport> {
  const { sums, bounds, counting, limits, quotaShares, clock } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));

  async function freshenQuotas(
    caller: Caller,
    config: Config,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const late = deadline(QUOTA_WAIT_MS);
    const end = signal === undefined ? late : AbortSignal.any([late, signal]);
    try {
      quotaShares.learn(await limits.read(caller, config, end));
    } catch (error) {
      if (signal?.aborted) throw error;
    }
  }

  return async (caller, config, signal) => {
    await freshenQuotas(caller, config, signal);
    const nowMs = clock.now();
    const { sinceMs } = counting;
    const holder: Holder = { kind: "token", name: caller.name };
    const connections = config.connections
      .filter(({ id, enabled }) => enabled && caller.connectionIds.has(id));
    return {
      object: "usage",
      token: caller.name,
      since: instant(sinceMs),
      windows: await readWindows(holder, { sums, nowMs, sinceMs }),
      limits: bounds.of(caller).flatMap((bound) =>
        bound.kind === "amount"
          ? amountUsage(bound, {
            sums,
            bounds,
            nowMs,
            connections,
            mayUse: (model) =>
              deploymentsFor(model, caller, config) !== undefined,
          })
          : shareUsage(
            bound,
            connections.find(({ name }) => name === bound.limit.connection),
            quotaShares,
          )
      ),
      connections: connections.map((connection) => ({
        provider_id: connection.id,
        name: connection.name,
        limits: quotaShares.of(connection, holder)
          .map((share) => quotaUsage(share, sinceMs)),
      })),
    };
  };
}

/** What a group shares may count models and connections that this token knows nothing of: they are left out. */
function amountUsage(
  bound: AmountBound,
  { sums, bounds, nowMs, connections, mayUse }:
    & Pick<UsageReportOptions, "sums" | "bounds">
    & {
      readonly nowMs: number;
      /** The token's own. */
      readonly connections: readonly Connection[];
      /** Whether the token may use a model. */
      readonly mayUse: (model: string) => boolean;
    },
): readonly LimitUsage[] {
  const { limit } = bound;
  const own = connections.map(({ name }) => name);
  const models = limit.models?.filter(mayUse);
  const through = limit.connections?.filter((name) => own.includes(name));
  if (models?.length === 0 || through?.length === 0) return [];
  const { sum, window } = bounds.sumAt(bound, nowMs);
  const [amount = 0] = sums.read([sum]);
  const { ratio } = amountState(bound, window.endMs, amount);
  const isCost = limit.unit === "cost";
  const scale = isCost ? NANOS_PER_DOLLAR : 1;
  return [{
    ...scopeOf(bound),
    unit: isCost ? "USD" : limit.unit,
    window: limit.window,
    models: models ?? null,
    connections: through ?? null,
    limit: limit.most / scale,
    used: amount / scale,
    remaining: Math.max(0, limit.most - amount) / scale,
    used_percent: Number.isFinite(ratio) ? percent(ratio) : null,
    starts_at: instant(window.startMs),
    resets_at: instant(window.endMs),
  }];
}

/**
 * One for each window that the limit names; one without numbers where none is known.
 *
 * @param connection That the limit is for; `undefined` where it is none of the token's.
 */
function shareUsage(
  bound: ShareBound,
  connection: Connection | undefined,
  quotaShares: QuotaShares,
): readonly LimitUsage[] {
  if (connection === undefined) return [];
  const { limit } = bound;
  const named = quotaShares.of(connection, bound.holder)
    .filter(({ window }) => isNamed(window, limit.window));
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

/** To a hundredth. */
function percent(ratio: number): number {
  return Math.round(ratio * 10_000) / 100;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
