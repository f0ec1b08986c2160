import type { GatewayError } from "../core/error.ts";
import { limitExceeded, warningWords } from "../usage/limit_words.ts";
import type { LimitRefusal } from "../usage/limiter.ts";
import type { Exchange } from "./exchange.ts";
import type { FailoverTask } from "./failover_task.ts";
import { servingDeployments } from "./routing/allow_named_models.ts";
import type { Candidate } from "./routing/candidate.ts";
import type { RelayServices } from "./services.ts";

/** Holds a request to the limits of its token, attempt by attempt. */
export interface LimitGate {
  /** Whether the limits have room for an attempt; what it needs is reserved then. */
  enter(candidate: Candidate): boolean | Promise<boolean>;
  /** When the limit resets that has kept the request from a candidate, in milliseconds since 1970; `undefined`: none. */
  limitedUntilMs(candidate: Candidate): number | undefined;
  /** The error for a caller whom a limit has kept from a candidate. */
  refusal(candidate: Candidate): GatewayError | undefined;
  /** Tells in an answer's headers that a limit is nearly used up. */
  warn(answer: Response): void;
}

/** A gate for one request; without a tally it is open. */
export function createLimitGate(
  { tally, named }: Pick<FailoverTask, "tally" | "named">,
  { caller }: Pick<Exchange, "caller">,
  { usage, clock }: Pick<RelayServices, "usage" | "clock">,
): LimitGate {
  const refusals = new Map<Candidate, LimitRefusal>();

  function learn(
    candidate: Candidate,
    refusal: LimitRefusal | undefined,
  ): boolean {
    if (refusal !== undefined) refusals.set(candidate, refusal);
    return refusal === undefined;
  }

  return {
    enter(candidate) {
      if (tally === undefined) return true;
      const refusal = tally.enter(
        servingDeployments(candidate, named, caller),
      );
      return refusal instanceof Promise
        ? refusal.then((one) => learn(candidate, one))
        : learn(candidate, refusal);
    },
    limitedUntilMs: (candidate) => refusals.get(candidate)?.resetsAtMs,
    refusal(candidate) {
      const refusal = refusals.get(candidate);
      if (refusal === undefined) return undefined;
      usage.refused(refusal, caller);
      return limitExceeded(refusal, clock.now());
    },
    warn(answer) {
      const near = tally?.near() ?? [];
      if (near.length === 0) return;
      usage.near(near, caller);
      answer.headers.set(WARNING_HEADER, near.map(warningWords).join(", "));
    },
  };
}

const WARNING_HEADER = "x-gateway-limit-warning";
