import type { Caller, Deployment } from "../config/config.ts";
import type { TimeSpan } from "../core/time/calendar.ts";
import type { Clock } from "../core/time/timers.ts";
import {
  type AmountBound,
  amountOf,
  type Bound,
  type Bounds,
  type BoundUse,
  countsRow,
  isBound,
  type ShareBound,
} from "./bounds.ts";
import { type Counts, countsOf } from "./counts.ts";
import { isNamed, type QuotaShare, type QuotaShares } from "./quota_share.ts";
import {
  type Claim,
  type Hold,
  holdsOf,
  type LimitUse,
  type Soon,
  soon,
  soonAll,
  type Sums,
  usedOf,
} from "./sums.ts";
import type { Row } from "./tables.ts";

/** The current use of a limit. */
export interface LimitState {
  readonly bound: Bound;
  /** The used amount, including running requests: in the limit's unit, or for a share as a part of the whole window. */
  readonly used: number;
  /** The used part of the limit; above 1 when it is exceeded. */
  readonly ratio: number;
  /** The reset time, in milliseconds since 1970. */
  readonly resetsAtMs: number;
}

/** The current use of a limit that counts a request. */
export interface RequestLimitState extends LimitState {
  /** The model and connection of the request that the limit counts, the only ones that a message may name. */
  readonly row: Row;
}

/** A request that a limit rejects. */
export interface LimitRefusal extends RequestLimitState {
  /** The least that the request needs, in the limit's unit; `undefined` for a share. */
  readonly needed: number | undefined;
}

/** A request that its limits admit. */
export interface Admitted {
  /** The holds of the request until it ends. */
  readonly holds: readonly Hold[];
  /** The limits that are nearly used up, including this request. */
  readonly near: readonly RequestLimitState[];
}

/**
 * The deployments that may serve one call, all on one connection: first the called one, then those that the body names.
 */
export type CallDeployments = readonly [Deployment, ...Deployment[]];

/** Admits requests within their limits. */
export interface Limiter {
  /**
   * Reserves the least that a request needs from all of its limits, or from none. A limit that counts several
   * deployments is claimed once, for the largest need.
   *
   * @param request.id The id of the request.
   * @param request.estimatedTokens A rough count of its input tokens.
   * @returns A value, or a promise when another process or thread decides.
   */
  enter(
    caller: Caller,
    deployments: CallDeployments,
    request: { readonly id: string; readonly estimatedTokens: number },
  ): Soon<Admitted | LimitRefusal>;
}

/** The dependencies of a {@linkcode Limiter}. */
interface LimiterOptions {
  readonly sums: Sums;
  readonly bounds: Bounds;
  readonly quotaShares: QuotaShares;
  /** Starts to read the quotas of a token's connections, for later requests. */
  readonly refreshQuotas: (caller: Caller) => void;
  readonly clock: Pick<Clock, "now">;
}

/** The ratio from which a limit counts as nearly used up. */
const NEAR_RATIO = 0.8;

/** The largest age of the token counts from which shares of quotas are estimated, in milliseconds. */
const SHARE_MAX_AGE_MS = 1000;

const UNBOUND: Admitted = { holds: [], near: [] };

/** Returns true when a request was rejected. */
export function isRefusal(
  result: Admitted | LimitRefusal,
): result is LimitRefusal {
  return "bound" in result;
}

/** Creates a limiter. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { sums, bounds, quotaShares, clock } = options;

  function sharesOf(
    caller: Caller,
    { connection, model }: Deployment,
  ): Soon<readonly RequestLimitState[]> {
    const row = { connection: connection.name, model: model.id };
    const states: Soon<readonly LimitState[]>[] = [];
    for (const bound of bounds.of(caller)) {
      if (bound.kind !== "share") continue;
      if (bound.limit.connection !== connection.name) continue;
      if (quotaShares.isStale(connection)) options.refreshQuotas(caller);
      const shares = quotaShares
        .of(connection, bound.holder, SHARE_MAX_AGE_MS);
      states.push(soon(shares, (found) => shareStates(bound, found)));
    }
    return states.length === 0 ? [] : soon(
      soonAll(states),
      (found) => found.flat().map((state) => ({ ...state, row })),
    );
  }

  function claimsOf(
    caller: Caller,
    deployments: CallDeployments,
    estimatedTokens: number,
  ): readonly BoundClaim[] {
    const nowMs = clock.now();
    const needs = deployments.map((one) => needOf(one, estimatedTokens));
    const wanted: BoundClaim[] = [];
    for (const bound of bounds.of(caller)) {
      if (bound.kind !== "amount") continue;
      const most = largestNeed(needs, bound);
      if (most === undefined) continue;
      wanted.push(boundClaim(bound, bounds.useAt(bound, nowMs), most));
    }
    return wanted;
  }

  function claimAll(
    id: string,
    wanted: readonly BoundClaim[],
    shares: readonly RequestLimitState[],
  ): Soon<Admitted | LimitRefusal> {
    const over = latest(shares.filter(({ ratio }) => ratio >= 1));
    if (over !== undefined) return { ...over, needed: undefined };
    if (wanted.length === 0) return { holds: [], near: shares.filter(isNear) };
    const claims = wanted.map(({ claim }) => claim);
    return soon(sums.reserve(id, claims), ({ isGranted, uses }) => {
      if (!isGranted) return refusalOf(wanted, uses);
      const states = wanted.map(({ bound, row, window, claim }, index) => {
        const used = usedOf(uses[index]) + claim.amount;
        return { ...amountState(bound, window.endMs, used), row };
      });
      const near = [...states, ...shares].filter(isNear);
      return { holds: holdsOf(id, claims), near };
    });
  }

  return {
    enter(caller, deployments, { id, estimatedTokens }) {
      if (!isBound(caller)) return UNBOUND;
      return soon(
        sharesOf(caller, deployments[0]),
        (shares) =>
          claimAll(id, claimsOf(caller, deployments, estimatedTokens), shares),
      );
    },
  };
}

/** The need of a request at one deployment. */
interface Need {
  readonly row: Row;
  readonly counts: Counts;
}

/** Returns the need of a request: a rough count of its input, and no output, which is unknown before it is sent. */
function needOf(
  { connection, model: { id, price } }: Deployment,
  tokens: number,
): Need {
  const usage = { inputTokens: Math.max(1, tokens), outputTokens: 0 };
  return {
    row: { connection: connection.name, model: id },
    counts: countsOf(usage, { price, isEstimated: false }),
  };
}

/** Returns the largest need that a limit counts; the first of equal ones. */
function largestNeed(
  needs: readonly Need[],
  { limit }: AmountBound,
): Need | undefined {
  const amount = ({ counts }: Need) => amountOf(limit.unit, counts);
  return needs.filter(({ row }) => countsRow(limit, row))
    .reduce<Need | undefined>(
      (most, one) =>
        most === undefined || amount(one) > amount(most) ? one : most,
      undefined,
    );
}

/** A claim on one limit. */
interface BoundClaim {
  readonly bound: AmountBound;
  readonly row: Row;
  readonly window: TimeSpan;
  readonly claim: Claim;
}

function boundClaim(
  bound: AmountBound,
  { sums, key, window }: BoundUse,
  { row, counts }: Need,
): BoundClaim {
  const { unit, most } = bound.limit;
  const claim = { sums, key, amount: amountOf(unit, counts), most };
  return { bound, row, window, claim };
}

/** Returns the refusal by the full limit that resets last, because no earlier retry can succeed. */
function refusalOf(
  wanted: readonly BoundClaim[],
  uses: readonly LimitUse[],
): LimitRefusal {
  const full = wanted.flatMap(({ bound, row, window, claim }, index) => {
    const { amount, most } = claim;
    const before = usedOf(uses[index]);
    return before + amount > most
      ? [{ ...amountState(bound, window.endMs, before), row, needed: amount }]
      : [];
  });
  const refusal = latest(full);
  if (refusal === undefined) {
    throw new Error("A rejected request must have a limit without room");
  }
  return refusal;
}

function isNear({ ratio }: LimitState): boolean {
  return ratio >= NEAR_RATIO;
}

/** Returns the current use of a limit on an amount. */
export function amountState(
  bound: AmountBound,
  resetsAtMs: number,
  used: number,
): LimitState {
  const { most } = bound.limit;
  const ratio = most === 0 ? (used > 0 ? Infinity : 0) : used / most;
  return { bound, used, ratio, resetsAtMs };
}

/**
 * Returns the current use of a limit on a share of a quota, for each window that it names and that can be estimated.
 */
function shareStates(
  bound: ShareBound,
  shares: readonly QuotaShare[],
): readonly LimitState[] {
  const { limit } = bound;
  return shares.flatMap(({ window, span, used }) =>
    span === undefined || used === undefined || !isNamed(window, limit.window)
      ? []
      : [{
        bound,
        used,
        ratio: limit.share === 0 ? Infinity : used / limit.share,
        resetsAtMs: span.endMs,
      }]
  );
}

function latest<State extends LimitState>(
  states: readonly State[],
): State | undefined {
  return states.reduce<State | undefined>(
    (last, one) =>
      last === undefined || one.resetsAtMs > last.resetsAtMs ? one : last,
    undefined,
  );
}
