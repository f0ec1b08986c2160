import type { Caller } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import type { Health } from "./health.ts";
import type { Candidate } from "./candidate.ts";

/** The error for a caller whom no connection may serve now; says when to come back. */
export function unavailable(
  candidates: readonly Candidate[],
  caller: Caller,
  health: Health,
): GatewayError {
  const rests = candidates.map(({ deployment }) =>
    health.restMs(deployment, caller)
  );
  return rests.some((restMs) => restMs === 0)
    ? overloaded("connection_overloaded", {
      why: "serves as many requests as it may",
      afterMs: 0,
    })
    : overloaded("connection_cooling_down", {
      why: "failed recently and is left alone for a moment",
      afterMs: Math.min(...rests),
    });
}

function overloaded(
  code: string,
  { why, afterMs }: { readonly why: string; readonly afterMs: number },
): GatewayError {
  const seconds = Math.max(1, Math.ceil(afterMs / 1000));
  return new GatewayError(
    "overloaded",
    `Cannot serve the model now: every connection that has it ${why}, try again in a moment`,
    { code, headers: { "retry-after": String(seconds) } },
  );
}
