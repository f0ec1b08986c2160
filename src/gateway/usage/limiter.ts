import type { Caller, Deployment } from "../config/config.ts";
import type { TimeSpan } from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import {
  type AmountBound,
  amountOf,
  type Bound,
  boundFor,
  type Bounds,
  type BoundUse,
  isBound,
  type ShareBound,
} from "./bounds.ts";
import { largestNeed, type LimitedCall, type Need, needOf } from "./need.ts";
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
  /**
   * The used amount, including running requests. It is in the limit's unit; for a share, it is a part of the whole
   * window.
   */
  readonly used: number;
  /** The used part of the limit; above 1 when the limit is exceeded. */
  readonly ratio: number;
  /** The reset time, in milliseconds since 1970. */
  readonly resetsAtMs: number;
}

/** The current use of a limit that counts a request. */
export interface RequestLimitState extends LimitState {
  /** The request's model and connection, both counted by the limit. A message may name no other model or connection. */
  readonly row: Row;
}

/** A request that a limit rejects. */
export interface LimitRefusal extends RequestLimitState {
  /** The least that the request needs, in the limit's unit; `undefined` for a share. */
  readonly needed: number | undefined;
  /**
   * True when only the holds of running requests fill the limit. There may be room when the requests of these holds
   * end.
   */
  readonly isHeld: boolean;
}

/** A request that its limits admit. */
export interface AdmittedUse {
  /** The holds of the request until it ends. */
  readonly holds: readonly Hold[];
  /** The limits of the request, with the request itself counted. */
  readonly states: readonly RequestLimitState[];
}

/**
 * The deployments that may serve one call, all on one connection: first the called deployment, then the other
 * deployments that the body names.
 */
export type CallDeployments = readonly [Deployment, ...Deployment[]];

/** Admits requests within their limits. */
export interface Limiter {
  /**
   * Reserves the expected need of a request in all limits of the request, or in no limit. If no other request holds a
   * part of a limit, room for the least need is enough, and the request then holds the rest of the limit. A limit that
   * counts several deployments is claimed once, for the largest need.
   *
   * @returns A value, or a promise when another process or thread decides.
   */
  enter(
    caller: Caller,
    deployments: CallDeployments,
    request: LimitedCall,
  ): Soon<AdmittedUse | LimitRefusal>;
  /** Learns the length of a caller's answers, in tokens. */
  learn(caller: Caller, outputTokens: number): void;
}

/** The output tokens that a caller is expected to need before its first answer. */
const FIRST_OUTPUT_TOKENS = 4096;

/** The weight of the last answer in the moving average of a caller's output. */
const LAST_WEIGHT = 1 / 8;

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

const UNBOUND: AdmittedUse = { holds: [], states: [] };

/** Returns true when a request was rejected. */
export function isRefusal(
  result: AdmittedUse | LimitRefusal,
): result is LimitRefusal {
  return "bound" in result;
}

/** Creates a limiter. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { sums, bounds, quotaShares, clock } = options;
  /** The moving averages of the callers' output, in tokens. */
  const outputs = new WeakMap<Caller, number>();

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
    call: LimitedCall,
  ): readonly BoundClaim[] {
    const nowMs = clock.now();
    const expected = outputs.get(caller) ?? FIRST_OUTPUT_TOKENS;
    const needs = deployments.map((one) => needOf(one, call, expected));
    const wanted: BoundClaim[] = [];
    for (const one of bounds.of(caller)) {
      if (one.kind !== "amount") continue;
      const bound = boundFor(one, caller, call.session);
      if (bound === undefined) continue;
      const most = largestNeed(needs, bound);
      if (most === undefined) continue;
      const atMs = bound.limit.window === "session" ? call.startedMs : nowMs;
      wanted.push(boundClaim(bound, bounds.useAt(bound, atMs), most));
    }
    return wanted;
  }

  function claimAll(
    id: string,
    wanted: readonly BoundClaim[],
    shares: readonly RequestLimitState[],
  ): Soon<AdmittedUse | LimitRefusal> {
    const over = latest(shares.filter(({ ratio }) => ratio >= 1));
    if (over !== undefined) {
      return { ...over, needed: undefined, isHeld: false };
    }
    if (wanted.length === 0) return { holds: [], states: shares };
    const admitted = (
      claims: readonly Claim[],
      uses: readonly LimitUse[],
    ): AdmittedUse => {
      const states = wanted.map(({ bound, row, window, least }, index) => {
        const used = usedOf(uses[index]) + least;
        const endMs = uses[index]?.endsAtMs ?? window.endMs;
        return { ...amountState(bound, endMs, used), row };
      });
      return { holds: holdsOf(id, claims), states: [...states, ...shares] };
    };
    const claims = wanted.map(({ claim }) => claim);
    return soon(sums.reserve(id, claims), ({ isGranted, uses }) => {
      if (isGranted) return admitted(claims, uses);
      const smaller = wanted.map((one, index) => restClaim(one, uses[index]));
      if (smaller.every((one, index) => one === claims[index])) {
        return refusalOf(wanted, claims, uses);
      }
      return soon(
        sums.reserve(id, smaller),
        (second) =>
          second.isGranted
            ? admitted(smaller, second.uses)
            : refusalOf(wanted, smaller, second.uses),
      );
    });
  }

  return {
    enter(caller, deployments, call) {
      if (!isBound(caller)) return UNBOUND;
      return soon(
        sharesOf(caller, deployments[0]),
        (shares) =>
          claimAll(call.id, claimsOf(caller, deployments, call), shares),
      );
    },
    learn(caller, outputTokens) {
      if (!isBound(caller)) return;
      const known = outputs.get(caller) ?? FIRST_OUTPUT_TOKENS;
      outputs.set(caller, known + LAST_WEIGHT * (outputTokens - known));
    },
  };
}

/** A claim on one limit. */
interface BoundClaim {
  readonly bound: AmountBound;
  readonly row: Row;
  readonly window: TimeSpan;
  /** The least that the request needs. */
  readonly least: number;
  readonly claim: Claim;
}

function boundClaim(
  bound: AmountBound,
  { sums, key, window }: BoundUse,
  { row, least, expected }: Need,
): BoundClaim {
  const { unit, most } = bound.limit;
  const claim = { sums, key, amount: amountOf(unit, expected), most };
  return { bound, row, window, least: amountOf(unit, least), claim };
}

/**
 * If the rest of a limit is smaller than a claim and no other request holds a part of the limit, shrinks the claim to
 * the rest. Otherwise returns the claim unchanged.
 */
function restClaim(
  { claim, least }: BoundClaim,
  use: LimitUse | undefined,
): Claim {
  const { amount, most } = claim;
  if (use === undefined || use.held > 0) return claim;
  const left = Math.max(least, most - usedOf(use));
  return left < amount ? { ...claim, amount: left } : claim;
}

/** Returns the refusal of a request by the full limit that resets last. A retry before that reset cannot succeed. */
function refusalOf(
  wanted: readonly BoundClaim[],
  claims: readonly Claim[],
  uses: readonly LimitUse[],
): LimitRefusal {
  const full = wanted.flatMap(({ bound, row, window, least }, index) => {
    const use = uses[index];
    const before = usedOf(use);
    const { most } = bound.limit;
    if (before + (claims[index]?.amount ?? 0) <= most) return [];
    const endMs = use?.endsAtMs ?? window.endMs;
    const state = { ...amountState(bound, endMs, before), row };
    const isHeld = before - (use?.held ?? 0) + least <= most;
    return [{ ...state, needed: least, isHeld }];
  });
  const lasting = full.filter(({ isHeld }) => !isHeld);
  const refusal = latest(lasting.length > 0 ? lasting : full);
  if (refusal === undefined) {
    throw new Error("A rejected request must have a limit without room");
  }
  return refusal;
}

/** Returns true for a limit that is nearly used up. */
export function isNear({ ratio }: LimitState): boolean {
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
 * Returns the state of a share limit in each window of the quota. Leaves out windows that the limit does not name and
 * windows whose use cannot be estimated.
 */
export function shareStates(
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
