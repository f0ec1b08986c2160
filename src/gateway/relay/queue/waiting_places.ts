import type { Caller, Connection } from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { AttemptFailure } from "../attempt_failure.ts";
import type { LimitGate } from "../limit_gate.ts";
import { type FailedAttempt, isRefused } from "../next_attempts.ts";
import type { Candidate, Candidates } from "../routing/candidate.ts";
import type { Health } from "../routing/health.ts";
import type { WaitingPlace } from "./slots.ts";

/** A request that no candidate can serve now. */
interface UnservedRequest {
  readonly caller: Caller;
  readonly candidates: Candidates;
  readonly failed: readonly FailedAttempt[];
  readonly gate: Pick<LimitGate, "limitedUntilMs">;
}

interface PlaceEvidence {
  readonly health: Pick<Health, "restMs" | "isRequestedWait">;
  readonly clock: Pick<Clock, "now">;
}

/** The wait after a rate limit for which the provider named no wait, in milliseconds. */
const UNKNOWN_WAIT_MS = 1_000;

/**
 * If the connection has a queue, adds a short wait to a rate limit for which the provider named no wait. The rate limit
 * then counts as a lack of room, not as a failure.
 */
export function asWait(
  failure: AttemptFailure,
  { queue }: Connection,
): AttemptFailure {
  return queue !== undefined && failure.kind === "rate_limited"
    ? { ...failure, retryAfterMs: failure.retryAfterMs ?? UNKNOWN_WAIT_MS }
    : failure;
}

/** The part of the longest wait for which a conversation waits for the connection that has its prompt in the cache. */
const HOME_SHARE = 0.5;

/**
 * Returns the places that a request may wait for, in the order of the candidates. The connection of each place has a
 * `queue` and lacks only room: a slot, the end of a wait that the provider asked for, or the reset of a limit of the
 * token.
 */
export function waitingPlaces(
  request: UnservedRequest,
  evidence: PlaceEvidence,
): readonly WaitingPlace[] {
  const { own, fallbacks } = request.candidates;
  return [...own, ...fallbacks]
    .flatMap((candidate) => placeOf(candidate, request, evidence) ?? []);
}

/**
 * Returns the place of the conversation's connection, if this connection lacks only room and the request has not waited
 * long. The request must then not begin elsewhere, because another provider would write the whole prompt to its cache
 * again.
 */
export function homePlace(
  request: UnservedRequest,
  waitedMs: number,
  evidence: PlaceEvidence,
): WaitingPlace | undefined {
  const { home } = request.candidates;
  if (home?.deployment.connection.queue === undefined) return undefined;
  const place = placeOf(home, request, evidence);
  if (place === undefined) return undefined;
  const mostMs = HOME_SHARE * place.mostMs;
  return waitedMs + place.restMs < mostMs ? { ...place, mostMs } : undefined;
}

function placeOf(
  candidate: Candidate,
  { caller, failed, gate }: UnservedRequest,
  { health, clock }: PlaceEvidence,
): WaitingPlace | undefined {
  const { deployment } = candidate;
  const { queue } = deployment.connection;
  if (queue === undefined || isRefused(candidate, failed)) return undefined;
  const mostMs = queue.maxWaitMs;
  const limitedUntilMs = gate.limitedUntilMs(candidate);
  if (limitedUntilMs !== undefined) {
    const restMs = limitedUntilMs - clock.now();
    return { deployment, restMs, why: "limit", mostMs };
  }
  const own = failed.filter((one) => one.candidate === candidate);
  if (own.some(({ failure }) => failure.kind !== "rate_limited")) {
    return undefined;
  }
  const coolMs = health.restMs(deployment, caller);
  if (coolMs > 0 && !health.isRequestedWait(deployment, caller)) {
    return undefined;
  }
  const last = own.at(-1)?.failure;
  const restMs = Math.max(coolMs, last?.retryAfterMs ?? 0);
  const why = restMs > 0 ? "rate_limit" : "concurrency";
  return { deployment, restMs, why, mostMs };
}
