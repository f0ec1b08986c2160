import type { GatewayError } from "../core/error.ts";
import { limitExceeded, warningWords } from "../usage/limit_words.ts";
import type { LimitRefusal } from "../usage/limiter.ts";
import type { Row } from "../usage/tables.ts";
import type { Tally } from "../usage/tally.ts";
import type { Exchange } from "./exchange.ts";
import type { Candidate } from "./routing/candidate.ts";
import type { RelayServices } from "./services.ts";

/** Holds a request to the limits of its token, attempt by attempt. */
export interface LimitGate {
  /** Whether the limits have room for an attempt; what it needs is reserved then. */
  enter(candidate: Candidate): boolean | Promise<boolean>;
  /** Those that no limit has kept the request from. */
  allowed(candidates: readonly Candidate[]): readonly Candidate[];
  /** The error for a caller whose limits have no room: of those that keep it away, the one that resets first. */
  refusal(): GatewayError | undefined;
  /** Tells in an answer's headers that a limit is nearly used up. */
  warn(answer: Response): void;
}

/** A gate for one request; without a tally it is open. */
export function createLimitGate(
  tally: Tally | undefined,
  { caller }: Pick<Exchange, "caller">,
  { usage, clock }: Pick<RelayServices, "usage" | "clock">,
): LimitGate {
  const refusals = new Map<Candidate, LimitRefusal>();
  let latest: Candidate | undefined;

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
      latest = candidate;
      const refusal = tally.enter(candidate.deployment);
      return refusal instanceof Promise
        ? refusal.then((one) => learn(candidate, one))
        : learn(candidate, refusal);
    },
    allowed: (candidates) =>
      refusals.size === 0
        ? candidates
        : candidates.filter((one) => !refusals.has(one)),
    refusal() {
      const [first] = [...refusals]
        .sort(([, one], [, other]) => one.resetsAtMs - other.resetsAtMs);
      if (first === undefined) return undefined;
      const [candidate, refusal] = first;
      usage.refused(refusal, caller);
      return limitExceeded(refusal, {
        row: rowOf(candidate),
        nowMs: clock.now(),
      });
    },
    warn(answer) {
      if (tally === undefined || latest === undefined) return;
      const near = tally.near();
      if (near.length === 0) return;
      const row = rowOf(latest);
      usage.near(near, caller);
      answer.headers.set(
        WARNING_HEADER,
        near.map((state) => warningWords(state, row)).join(", "),
      );
    },
  };
}

function rowOf({ deployment: { connection, model } }: Candidate): Row {
  return { connection: connection.name, model: model.id };
}

const WARNING_HEADER = "x-gateway-limit-warning";
