import { isNonEmpty } from "@gateway/base/collections";
import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import { UpstreamFailure } from "@gateway/codecs";
import { noteDeployment } from "./attempt.ts";
import {
  type AttemptFailure,
  isLimit,
  lastingCause,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import type { LimitGate } from "./limit_gate.ts";
import { NativeFailure } from "./native/native_failure.ts";
import { type FailedAttempt, isRefused, wasSent } from "./next_attempts.ts";
import type { Candidates } from "./routing/candidate.ts";
import { LONG_MS } from "./routing/cool_down.ts";
import {
  exhaustedFailure,
  type Outlook,
  outlookError,
  outlookOf,
} from "./routing/outlook.ts";
import type { Uses } from "./services.ts";

/** A request that no attempt served. */
interface FailedRequest {
  readonly exchange: Exchange;
  readonly candidates: Candidates;
  /** The failed attempts, and the refusals of the translation. */
  readonly failed: readonly FailedAttempt[];
  readonly gate: LimitGate;
  /** The time until the request could be served, in milliseconds. Set only if the request cannot wait that long. */
  readonly expectedMs?: number | undefined;
}

/**
 * Returns or throws the error for a request that no attempt served. The error must fit the {@linkcode Outlook}: if a
 * request can soon be served, the client must neither stop nor wait long. If not, the client must not retry in vain.
 * The last failure that fits is used. Failures of the requested model come before failures of fallbacks. A refusal by
 * the translation is used in two cases: no candidate can serve the request, or only fallbacks can, and not soon.
 *
 * @returns The upstream's own error, if it may pass unchanged.
 * @throws Every other failure.
 */
export function passFailure(
  { exchange, candidates: { own, fallbacks }, failed, gate, expectedMs }:
    FailedRequest,
  services: Uses<"health" | "quotas" | "clock">,
): Response {
  const { facts } = exchange.record;
  const sent = failed.filter(wasSent);
  const able = [...own, ...fallbacks].filter((one) => !isRefused(one, failed));
  const outlook = isNonEmpty(able)
    ? outlookOf(able, {
      caller: exchange.caller,
      failed: sent,
      limitedUntilMs: gate.limitedUntilMs,
    }, services)
    : undefined;
  const isMistake = outlook?.kind !== "soon" &&
    own.every((one) => isRefused(one, failed));
  if (outlook === undefined || isMistake) {
    const refusal = failed.find((one) => !wasSent(one));
    facts.failure = FAILURE_WORD_BY_KIND.untranslatable;
    // A request that was sent counts for its last connection.
    if (sent.length === 0) noteDeployment(refusal?.candidate, facts);
    throw refusal?.thrown;
  }
  const ofOwn = sent.filter(({ candidate }) => own.includes(candidate));
  // A request that is too large for one account may soon be served by another account.
  const rank = (one: FailedAttempt) => Number(one.failure.kind !== "too_large");
  const fitting = (ofOwn.length > 0 ? ofOwn : sent)
    .filter(({ failure }) => fitsOutlook(failure, outlook))
    .toSorted((one, other) => rank(one) - rank(other)).at(-1);
  const last = fitting ?? sent.at(-1);
  if (last === undefined) noteDeployment(undefined, facts);
  else facts.failure = FAILURE_WORD_BY_KIND[last.failure.kind];
  const nowMs = services.clock.now();
  if (fitting === undefined) {
    throw outlook.kind === "exhausted" && outlook.limited !== undefined
      ? gate.refusal(outlook.limited)
      : outlookError(later(outlook, nowMs + (expectedMs ?? 0)), nowMs);
  }
  const isExhausted = outlook.kind === "exhausted" && isLimit(fitting.failure);
  if (fitting.thrown instanceof NativeFailure) {
    const untilMs = isExhausted ? outlook.tryAtMs ?? outlook.atMs : undefined;
    return fitting.thrown.pass(exchange, { untilMs, nowMs });
  }
  throw isExhausted && fitting.thrown instanceof UpstreamFailure
    ? exhaustedFailure(outlook, nowMs, fitting.thrown.failure)
    : fitting.thrown;
}

/** Delays the outlook of a busy connection until the requests before this one have had their turn. */
function later(outlook: Outlook, atMs: number): Outlook {
  return outlook.kind === "soon" && outlook.isBusy && atMs > outlook.atMs
    ? { ...outlook, atMs }
    : outlook;
}

/** Returns true when a failure gives a client the same advice as the outlook: to retry soon, to wait, or to stop. */
function fitsOutlook(failure: AttemptFailure, { kind }: Outlook): boolean {
  const isLasting = lastingCause(failure) !== undefined;
  const isExhausted = isLimit(failure) &&
    (failure.retryAfterMs ?? 0) >= LONG_MS;
  switch (kind) {
    case "lasting":
      return isLasting;
    case "exhausted":
      return isLimit(failure);
    case "soon":
      return !isLasting && !isExhausted;
  }
}
