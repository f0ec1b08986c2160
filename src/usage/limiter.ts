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

/** How far a limit is used. */
export interface LimitState {
  readonly bound: Bound;
  /** What is used, what runs included: in the limit's unit, of a share the part of the whole window. */
  readonly used: number;
  /** Used, as a part of what is allowed; above 1 where more was used. */
  readonly ratio: number;
  /** When it resets, in milliseconds since 1970. */
  readonly resetsAtMs: number;
}

/** How far a limit is used that counts a request. */
export interface RequestLimitState extends LimitState {
  /** What it counts of the request: the only model and connection that its words may name. */
  readonly row: Row;
}

/** A request that a limit does not let through. */
export interface LimitRefusal extends RequestLimitState {
  /** What the request needs at least, in the limit's unit; of a share nothing is known. */
  readonly needed: number | undefined;
}

/** A request that its limits let through. */
export interface Admitted {
  /** What it holds until it ends. */
  readonly holds: readonly Hold[];
  /** The limits that are nearly used up, this request included. */
  readonly near: readonly RequestLimitState[];
}

/** What may serve one call, all on one connection: the deployment that is called, then those that the body names. */
export type CallDeployments = readonly [Deployment, ...Deployment[]];

/** Lets requests through as far as limits allow. */
export interface Limiter {
  /**
   * Reserves what a request needs at least of every limit that binds it, or nothing. A limit that counts several of
   * the deployments is asked once, for the one that needs most.
   *
   * @param request.id Names the request.
   * @param request.estimatedTokens A rough count of its input tokens.
   * @returns At once where no other process or thread has to be asked.
   */
  enter(
    caller: Caller,
    deployments: CallDeployments,
    request: { readonly id: string; readonly estimatedTokens: number },
  ): Soon<Admitted | LimitRefusal>;
}

/** What {@linkcode createLimiter} needs. */
export interface LimiterOptions {
  readonly sums: Sums;
  readonly bounds: Bounds;
  readonly quotaShares: QuotaShares;
  /** Has the quotas of a token's connections read, for the requests to come. */
  readonly refreshQuotas: (caller: Caller) => void;
  readonly clock: Pick<Clock, "now">;
}

/** From here on a limit is nearly used up. */
export const NEAR_RATIO = 0.8;

/** How old the counted tokens may be by which shares of quotas are estimated, in milliseconds. */
const SHARE_MAX_AGE_MS = 1000;

const UNBOUND: Admitted = { holds: [], near: [] };

/** Whether a request was refused. */
export function isRefusal(
  result: Admitted | LimitRefusal,
): result is LimitRefusal {
  return "bound" in result;
}

/** Lets through what fits. */
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

  function askAll(
    caller: Caller,
    deployments: CallDeployments,
    estimatedTokens: number,
  ): readonly Asked[] {
    const nowMs = clock.now();
    const needs = deployments.map((one) => needOf(one, estimatedTokens));
    const asked: Asked[] = [];
    for (const bound of bounds.of(caller)) {
      if (bound.kind !== "amount") continue;
      const most = largestNeed(needs, bound);
      if (most === undefined) continue;
      asked.push(ask(bound, bounds.useAt(bound, nowMs), most));
    }
    return asked;
  }

  function claimAll(
    id: string,
    asked: readonly Asked[],
    shares: readonly RequestLimitState[],
  ): Soon<Admitted | LimitRefusal> {
    const over = latest(shares.filter(({ ratio }) => ratio >= 1));
    if (over !== undefined) return { ...over, needed: undefined };
    if (asked.length === 0) return { holds: [], near: shares.filter(isNear) };
    const claims = asked.map(({ claim }) => claim);
    return soon(sums.reserve(id, claims), ({ isGranted, uses }) => {
      if (!isGranted) return refusalOf(asked, uses);
      const states = asked.map(({ bound, row, window, claim }, index) => {
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
          claimAll(id, askAll(caller, deployments, estimatedTokens), shares),
      );
    },
  };
}

/** What a request needs if one deployment serves it. */
interface Need {
  readonly row: Row;
  readonly counts: Counts;
}

/** A request's input is known roughly before it goes out, and of its output nothing. */
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

/** The largest need that a limit counts; of equal ones the first. */
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

/** What is asked of one limit. */
interface Asked {
  readonly bound: AmountBound;
  readonly row: Row;
  readonly window: TimeSpan;
  readonly claim: Claim;
}

function ask(
  bound: AmountBound,
  { sums, key, window }: BoundUse,
  { row, counts }: Need,
): Asked {
  const { unit, most } = bound.limit;
  const claim = { sums, key, amount: amountOf(unit, counts), most };
  return { bound, row, window, claim };
}

/** Of the limits without room the one that resets last: before that there is no use in coming back. */
function refusalOf(
  asked: readonly Asked[],
  uses: readonly LimitUse[],
): LimitRefusal {
  const full = asked.flatMap(({ bound, row, window, claim }, index) => {
    const { amount, most } = claim;
    const before = usedOf(uses[index]);
    return before + amount > most
      ? [{ ...amountState(bound, window.endMs, before), row, needed: amount }]
      : [];
  });
  const refusal = latest(full);
  if (refusal === undefined) {
    throw new Error("A refused request needs a limit without room");
  }
  return refusal;
}

function isNear({ ratio }: LimitState): boolean {
  return ratio >= NEAR_RATIO;
}

/** How far a limit on an amount is used. */
export function amountState(
  bound: AmountBound,
  resetsAtMs: number,
  used: number,
): LimitState {
  const { most } = bound.limit;
  const ratio = most === 0 ? (used > 0 ? Infinity : 0) : used / most;
  return { bound, used, ratio, resetsAtMs };
}

/** How far a limit on a share of a quota is used, by those of its windows that it names and that can be estimated. */
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
