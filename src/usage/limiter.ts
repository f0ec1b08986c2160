import type { Caller, Connection, Deployment } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import {
  type AmountBound,
  amountOf,
  type Bound,
  type Bounds,
  type BoundSum,
  countsRow,
  isBound,
  type ShareBound,
} from "./bounds.ts";
import { type Counts, countsOf } from "./counts.ts";
import { isNamed, type QuotaShares } from "./quota_share.ts";
import type { RefusedReservation, Reservation, Sum, Sums } from "./sums.ts";

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

/** A request that a limit does not let through. */
export interface LimitRefusal extends LimitState {
  /** What the request needs at least, in the limit's unit; of a share nothing is known. */
  readonly needed: number | undefined;
}

/** What a request holds of its limits while it runs. */
export interface Hold {
  /** To be given back when the request ends. */
  readonly reserved: readonly Reservation[];
  /** The limits that are nearly used up, this request included. */
  readonly near: readonly LimitState[];
}

/** Lets requests through as far as limits allow. */
export interface Limiter {
  /**
   * Reserves what a request needs at least of every limit that binds it on a deployment, or nothing.
   *
   * @param estimatedTokens A rough count of its input tokens.
   * @returns At once where nobody else has to be asked; for a token without limits nothing is looked up.
   */
  enter(
    caller: Caller,
    deployment: Deployment,
    estimatedTokens: number,
  ): Hold | LimitRefusal | Promise<Hold | LimitRefusal>;
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

const NOTHING: Hold = { reserved: [], near: [] };

/** Whether a request was refused. */
export function isRefusal(
  result: Hold | LimitRefusal,
): result is LimitRefusal {
  return "bound" in result;
}

/** Lets through what fits. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { sums, bounds, quotaShares, clock } = options;

  function enterBound(
    caller: Caller,
    deployment: Deployment,
    estimatedTokens: number,
  ): Hold | LimitRefusal | Promise<Hold | LimitRefusal> {
    const shares = sharesOf(caller, deployment);
    const over = latest(shares.filter(({ ratio }) => ratio >= 1));
    if (over !== undefined) return { ...over, needed: undefined };
    const asked = askAll(caller, deployment, estimatedTokens);
    if (asked.length === 0) {
      return { reserved: [], near: shares.filter(isNear) };
    }
    const reserved = asked.map(({ reservation }) => reservation);
    const settle = (refused: RefusedReservation | undefined) =>
      refused === undefined
        ? { reserved, near: nearOf(asked, shares, sums) }
        : refusalOf(asked, refused, sums);
    const refused = sums.reserve(reserved);
    return refused instanceof Promise ? refused.then(settle) : settle(refused);
  }

  function sharesOf(
    caller: Caller,
    { connection }: Deployment,
  ): readonly LimitState[] {
    const states: LimitState[] = [];
    for (const bound of bounds.of(caller)) {
      if (bound.kind !== "share") continue;
      if (bound.limit.connection !== connection.name) continue;
      if (quotaShares.isStale(connection)) options.refreshQuotas(caller);
      states.push(...shareStates(bound, connection, quotaShares));
    }
    return states;
  }

  function askAll(
    caller: Caller,
    deployment: Deployment,
    estimatedTokens: number,
  ): readonly Asked[] {
    const { connection, model } = deployment;
    const nowMs = clock.now();
    const row = { connection: connection.name, model: model.id };
    const needed = neededOf(deployment, estimatedTokens);
    const asked: Asked[] = [];
    for (const bound of bounds.of(caller)) {
      if (bound.kind !== "amount" || !countsRow(bound.limit, row)) continue;
      asked.push(ask(bound, bounds.sumAt(bound, nowMs), needed));
    }
    return asked;
  }

  return {
    enter: (caller, deployment, estimatedTokens) =>
      isBound(caller)
        ? enterBound(caller, deployment, estimatedTokens)
        : NOTHING,
  };
}

/** A request's input is known roughly before it goes out, and of its output nothing. */
function neededOf({ model: { price } }: Deployment, tokens: number): Counts {
  return countsOf({ inputTokens: Math.max(1, tokens), outputTokens: 0 }, {
    price,
    isEstimated: false,
  });
}

/** What is asked of one limit. */
interface Asked extends BoundSum {
  readonly bound: AmountBound;
  readonly reservation: Reservation;
}

function ask(
  bound: AmountBound,
  { sum, window }: BoundSum,
  needed: Counts,
): Asked {
  const { unit, most } = bound.limit;
  const reservation = { sum, amount: amountOf(unit, needed), most };
  return { bound, sum, window, reservation };
}

/**
 * Of the limits without room the one that resets last: before that there is no use in coming back.
 *
 * @param refused What another process said, which may know of more than this one.
 */
function refusalOf(
  asked: readonly Asked[],
  refused: RefusedReservation,
  sums: Pick<Sums, "read">,
): LimitRefusal {
  const amounts = sums.read(asked.map(({ sum }) => sum));
  const full = asked.flatMap(({ bound, window, reservation }, index) => {
    const { amount, most } = reservation;
    const isNamed = isSame(reservation.sum, refused.reservation.sum);
    const known = amounts[index] ?? 0;
    const used = isNamed ? Math.max(known, refused.used) : known;
    const state = amountState(bound, window.endMs, used);
    return isNamed || used + amount > most
      ? [{ ...state, needed: amount }]
      : [];
  });
  const refusal = latest(full);
  if (refusal === undefined) {
    throw new Error("Nobody asked for what was refused");
  }
  return refusal;
}

function isSame(one: Sum, other: Sum): boolean {
  return one.table === other.table && one.field === other.field;
}

function nearOf(
  asked: readonly Asked[],
  shares: readonly LimitState[],
  sums: Pick<Sums, "read">,
): readonly LimitState[] {
  const amounts = sums.read(asked.map(({ sum }) => sum));
  return asked.map(({ bound, window }, index) =>
    amountState(bound, window.endMs, amounts[index] ?? 0)
  ).concat(shares).filter(isNear);
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

/**
 * How far a limit on a share of a connection's quota is used: of the windows that it names, those that can be
 * estimated.
 */
export function shareStates(
  bound: ShareBound,
  connection: Connection,
  quotaShares: QuotaShares,
): readonly LimitState[] {
  const { limit, holder } = bound;
  return quotaShares.of(connection, holder).flatMap(
    ({ window, span, used }) =>
      span === undefined || used === undefined ||
        !isNamed(window, limit.window)
        ? []
        : [{
          bound,
          used,
          ratio: limit.share === 0 ? Infinity : used / limit.share,
          resetsAtMs: span.endMs,
        }],
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
