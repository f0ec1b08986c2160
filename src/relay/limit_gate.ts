import type { GatewayError } from "../core/error.ts";
import { publicAddress } from "../core/public_address.ts";
import {
  limitExceeded,
  retryAtMs,
  warningWords,
} from "../usage/limit_words.ts";
import type { LimitRefusal } from "../usage/limiter.ts";
import { type Soon, soon } from "../usage/sums.ts";
import type { Tally } from "../usage/tally.ts";
import type { Exchange } from "./exchange.ts";
import {
  type Candidate,
  type NamedInBody,
  servingDeployments,
} from "./routing/candidate.ts";
import type { Uses } from "./services.ts";

/** Applies the limits of a token to each attempt of a request. */
export interface LimitGate {
  /** Returns true when the limits have room for an attempt, and reserves its usage. */
  enter(candidate: Candidate): Soon<boolean>;
  /** The time at which a candidate that a limit excluded may be tried, in milliseconds since 1970; `undefined` for none. */
  limitedUntilMs(candidate: Candidate): number | undefined;
  /** Returns the error for a caller whose limit excluded a candidate. */
  refusal(candidate: Candidate): GatewayError | undefined;
  /** Adds a response header that names the limits that are nearly used up. */
  warn(answer: Response): void;
}

/** A request that the limits may count. */
export interface LimitedRequest {
  /** Counts the request against the limits; `undefined` for a request that is not counted. */
  readonly tally: Tally | undefined;
  /** The models that its body names. */
  readonly named: NamedInBody;
}

/** Creates the gate of one request. Without a tally it admits every attempt. */
export function createLimitGate(
  { tally, named }: LimitedRequest,
  { caller, request: { url }, headers }: Pick<
    Exchange,
    "caller" | "request" | "headers"
  >,
  { usage, clock }: Uses<"usage" | "clock">,
): LimitGate {
  const refusals = new Map<Candidate, LimitRefusal>();

  return {
    enter(candidate) {
      if (tally === undefined) return true;
      const entered = tally.enter(servingDeployments(candidate, named, caller));
      return soon(entered, (refusal) => {
        if (refusal !== undefined) refusals.set(candidate, refusal);
        return refusal === undefined;
      });
    },
    limitedUntilMs(candidate) {
      const refusal = refusals.get(candidate);
      return refusal && retryAtMs(refusal, clock.now());
    },
    refusal(candidate) {
      const refusal = refusals.get(candidate);
      if (refusal === undefined) return undefined;
      usage.refused(refusal, caller);
      return limitExceeded(refusal, {
        nowMs: clock.now(),
        address: publicAddress({ url, headers }),
      });
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
