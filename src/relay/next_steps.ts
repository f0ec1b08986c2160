import type { Fault, FaultKind } from "./fault.ts";
import type { Plan } from "./routing/candidate.ts";
import type { Ways } from "./routing/candidates.ts";

/** An attempt that failed. */
export interface Tried {
  readonly plan: Plan;
  readonly fault: Fault;
  /** Whether it was to show that a connection is well again. */
  readonly wasProbe: boolean;
}

/** An attempt that may be made now. */
export interface Step {
  readonly plan: Plan;
  /** How long to wait before, in milliseconds. */
  readonly waitMs: number;
  /** Whether the last attempt went the same way. */
  readonly again: boolean;
}

/** In all, before the first byte of output (docs/design.md#failover). */
export const MAX_ATTEMPTS = 3;

/** A longer `Retry-After` is not waited for, in milliseconds. */
const MAX_WAIT_MS = 5000;

/** What may follow a fault: the same way again, another connection or model, another model, or nothing. */
const SEQUEL_BY_FAULT = {
  unreachable: "again",
  broken: "again",
  trouble: "again",
  rate_limited: "again",
  silent: "elsewhere",
  exhausted: "elsewhere",
  misconfigured: "elsewhere",
  forbidden: "elsewhere",
  too_long: "other model",
  oversized: "nothing",
  refused: "nothing",
  untranslatable: "nothing",
} as const satisfies Record<FaultKind, string>;

/**
 * The attempts that may be made after those that failed, the best first; none when the caller is to be told.
 *
 * A short `Retry-After` keeps a request on its connection, for its prompt cache. Else a connection that has
 * not been asked comes first, then the same one after a pause. The last attempt is kept for the fallbacks.
 *
 * @param random Gives a number from 0 up to 1, so that what failed together does not come back together.
 */
export function nextSteps(
  { own, fallbacks }: Ways,
  tried: readonly Tried[],
  random: () => number,
): readonly Step[] {
  const last = tried.at(-1);
  if (last === undefined) return [...own, ...fallbacks].map(fresh);
  const { plan, fault, wasProbe } = last;
  const sequel = SEQUEL_BY_FAULT[fault.kind];
  const left = MAX_ATTEMPTS - tried.length;
  if (left <= 0 || sequel === "nothing") return [];
  const untried = (plans: readonly Plan[]) =>
    plans.filter((one) => tried.every((other) => other.plan !== one));
  const standIns = untried(fallbacks).map(fresh);
  if (sequel === "other model") {
    return standIns.filter(({ plan: { candidate } }) =>
      candidate.model.id !== plan.candidate.model.id
    );
  }
  const isOwn = own.includes(plan);
  const others = isOwn ? untried(own).map(fresh) : [];
  const again = sequel === "again" && !wasProbe
    ? againSteps(plan, fault, { failures: tried.length, random })
    : [];
  const here = fault.retryAfterMs === undefined
    ? [...others, ...again]
    : [...again, ...others];
  return isOwn && left > 1 ? [...here, ...standIns] : [...standIns, ...here];
}

function fresh(plan: Plan): Step {
  return { plan, waitMs: 0, again: false };
}

/** The same way once more, unless the upstream asks for a longer wait than a caller bears. */
function againSteps(
  plan: Plan,
  { retryAfterMs }: Fault,
  { failures, random }: {
    readonly failures: number;
    readonly random: () => number;
  },
): readonly Step[] {
  if (retryAfterMs === undefined) {
    return [{ plan, waitMs: backoffMs(failures, random), again: true }];
  }
  if (retryAfterMs > MAX_WAIT_MS) return [];
  const waitMs = retryAfterMs * (1 + MAX_LATENESS * random());
  return [{ plan, waitMs, again: true }];
}

/** By how much a `Retry-After` may be outstayed, as a share of it. */
const MAX_LATENESS = 0.1;

/** The longest first pause, in milliseconds; each further one is twice as long. */
const FIRST_PAUSE_MS = 500;

/** Between half of a pause and the whole. */
function backoffMs(failures: number, random: () => number): number {
  const pauseMs = FIRST_PAUSE_MS * 2 ** (failures - 1);
  return pauseMs * (1 + random()) / 2;
}
