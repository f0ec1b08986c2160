import type { Config } from "../config/config.ts";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { Clock } from "@gateway/base/time/timers";
import type {
  GroupQuotaState,
  LimitUseState,
  UsageState,
} from "../observe/metrics.ts";
import {
  type AmountBound,
  boundLabel,
  type Bounds,
  type BoundUse,
  isOfOne,
  type ShareBound,
} from "./bounds.ts";
import { amountState, type LimitState, shareStates } from "./limiter.ts";
import type { QuotaShares } from "./quota_share.ts";
import { type Sums, usedOf } from "./sums.ts";
import type { Holder } from "./tables.ts";

interface CurrentUseOptions {
  readonly sums: Pick<Sums, "uses">;
  readonly bounds: Bounds;
  readonly quotaShares: Pick<QuotaShares, "of">;
  readonly clock: Pick<Clock, "now">;
}

/** The largest age of the sums behind an estimated share, in milliseconds: shorter than a usual scrape interval. */
const SHARE_MAX_AGE_MS = 10_000;

/**
 * Returns the current use of every limit in a configuration, and each group's part of the known quota windows. The
 * limits of single callers of an identity provider are missing, because the configuration does not name these callers.
 * Sends no request to a provider.
 */
export async function readCurrentUse(
  config: Config,
  options: CurrentUseOptions,
): Promise<UsageState> {
  const callers = [...new Set(config.callers.values())];
  const rules = config.identity.flatMap((one) => one.rules);
  const groups = new Set([...callers, ...rules].flatMap((one) => one.groups));
  const bounds = [
    ...new Set([
      ...callers.flatMap(options.bounds.of),
      ...[...groups].flatMap(options.bounds.ofGroup),
    ]),
  ];
  const amounts = bounds.filter((bound) => bound.kind === "amount")
    .filter(isOfOne);
  const shares = bounds.filter((bound) => bound.kind === "share");
  const limits = [
    ...await amountUses(amounts, options),
    ...await shareUses(shares, config, options),
  ];
  return {
    limits: fullest(limits),
    groupQuotas: await groupQuotas(
      [...groups].map(({ name }) => name),
      config,
      options,
    ),
  };
}

/** Returns the current use of limits on amounts. Reads all sums at once, because the sums may be in a store. */
async function amountUses(
  bounds: readonly AmountBound[],
  { sums, bounds: { useAt }, clock }: CurrentUseOptions,
): Promise<readonly LimitUseState[]> {
  if (bounds.length === 0) return [];
  const nowMs = clock.now();
  const placed: readonly (readonly [AmountBound, BoundUse])[] = bounds
    .map((bound) => [bound, useAt(bound, nowMs)]);
  const uses = await sums.uses(placed.map(([, use]) => use));
  return placed.map(([bound, { window }], index) => {
    const { most, unit } = bound.limit;
    const state = amountState(bound, window.endMs, usedOf(uses[index]));
    return useState(state, most, unit === "cost" ? NANOS_PER_DOLLAR : 1);
  });
}

/** Returns the current use of limits on shares, one entry for each known window. */
async function shareUses(
  bounds: readonly ShareBound[],
  { connections }: Config,
  { quotaShares }: CurrentUseOptions,
): Promise<readonly LimitUseState[]> {
  const all = await Promise.all(bounds.map(async (bound) => {
    const { connection: name, share } = bound.limit;
    const connection = connections.find((one) => one.name === name);
    if (connection === undefined) return [];
    const shares = await quotaShares
      .of(connection, bound.holder, SHARE_MAX_AGE_MS);
    return shareStates(bound, shares)
      .map((state) => useState(state, share, 1));
  }));
  return all.flat();
}

function useState(
  { bound, used, ratio: usedRatio, resetsAtMs }: LimitState,
  most: number,
  scale: number,
): LimitUseState {
  const { kind, name } = bound.holder;
  const scope = kind === "group" ? "group" : "token";
  const remaining = Math.max(0, most - used) / scale;
  const limit = boundLabel(bound);
  return { scope, name, limit, usedRatio, remaining, resetsAtMs };
}

/**
 * If several limits have the same labels, keeps only the fullest of these limits. Limits of a token on different models
 * have the same label.
 */
function fullest(limits: readonly LimitUseState[]): readonly LimitUseState[] {
  const kept = new Map<string, LimitUseState>();
  for (const one of limits) {
    const key = [one.scope, one.name, one.limit].join("\t");
    const known = kept.get(key);
    if (known === undefined || known.usedRatio < one.usedRatio) {
      kept.set(key, one);
    }
  }
  return [...kept.values()];
}

/** Returns each group's part of every quota window. Leaves out windows whose parts cannot be estimated. */
async function groupQuotas(
  groups: readonly string[],
  { connections }: Config,
  { quotaShares }: CurrentUseOptions,
): Promise<readonly GroupQuotaState[]> {
  const pairs = groups.flatMap((group) =>
    connections.map((connection) => ({ group, connection }))
  );
  const all = await Promise.all(pairs.map(async ({ group, connection }) => {
    const holder: Holder = { kind: "group", name: group };
    const shares = await quotaShares.of(connection, holder, SHARE_MAX_AGE_MS);
    return shares.flatMap(({ window: { type, window, unit }, used }) =>
      used === undefined
        ? []
        : [{ group, connection: connection.name, type, window, unit, used }]
    );
  }));
  return all.flat();
}
