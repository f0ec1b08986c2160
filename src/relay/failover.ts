import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import { UpstreamFailure } from "../protocols/canonical/failure/failure.ts";
import { admitFirst } from "./admit_attempt.ts";
import {
  type AttemptFailure,
  isLimit,
  lastingCause,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import type { AttemptContext, FailoverTask } from "./failover_task.ts";
import { createLimitGate, type LimitGate } from "./limit_gate.ts";
import { NativeFailure } from "./native/native_failure.ts";
import { type FailedAttempt, nextAttempts } from "./next_attempts.ts";
import {
  LONG_MS,
  type Outlook,
  outlookError,
  outlookOf,
  spentFailure,
} from "./routing/outlook.ts";
import { runAttempt } from "./run_attempt.ts";
import type { RelayServices } from "./services.ts";

/**
 * Serves a request by the first way that gives an answer (docs/design.md#failover). The caller of a request that
 * nobody serves is told of the model that was asked for, not of those that should have stood in.
 *
 * @throws What the last attempt threw.
 * @throws {GatewayError} When nothing may be asked now.
 * @throws {CallerLeft} When the caller left before there was an answer.
 */
export async function serve(
  exchange: Exchange,
  task: FailoverTask,
  services: RelayServices,
): Promise<Response> {
  const failed: FailedAttempt[] = [];
  const gate = createLimitGate(task, exchange, services);
  for (;;) {
    const next = nextAttempts(task.candidates, failed, services.random);
    const admitted = await admitFirst(next, { exchange, gate }, services);
    if (admitted === undefined) break;
    const outcome = await runAttempt(
      admitted,
      { exchange, task, failed },
      services,
    );
    if (outcome instanceof Response) {
      // Nothing is sent again behind an answer, which may go on for long.
      task.body.letGo();
      gate.warn(outcome);
      return outcome;
    }
    failed.push(outcome);
    exchange.control.nextAttempt();
  }
  return passFailure({ exchange, task, failed }, gate, services);
}

/**
 * Tells the caller of a request that nobody serves what its own model's connection said last, where that fits the
 * outlook: no client must stop, or wait for long, where another connection may serve soon, nor go on where none will.
 *
 * @returns The upstream's own error, where it may pass as it is.
 * @throws Every other failure.
 */
function passFailure(
  { exchange, task, failed }: AttemptContext,
  gate: LimitGate,
  services: RelayServices,
): Response {
  const { own, fallbacks } = task.candidates;
  const outlook = outlookOf([...own, ...fallbacks], {
    caller: exchange.caller,
    failed,
    limitedUntilMs: gate.limitedUntilMs,
  }, services);
  const ofOwn = failed.filter(({ candidate }) => own.includes(candidate));
  const told = (ofOwn.length > 0 ? ofOwn : failed)
    .findLast(({ failure }) => tells(failure, outlook));
  const last = told ?? failed.at(-1);
  if (last !== undefined) {
    exchange.record.facts.failure = FAILURE_WORD_BY_KIND[last.failure.kind];
  }
  const nowMs = services.clock.now();
  if (told === undefined) {
    throw outlook.kind === "spent" && outlook.limited !== undefined
      ? gate.refusal(outlook.limited)
      : outlookError(outlook, nowMs);
  }
  const isSpent = outlook.kind === "spent" && isLimit(told.failure);
  if (told.thrown instanceof NativeFailure) {
    return told.thrown.pass(exchange, isSpent);
  }
  throw isSpent && told.thrown instanceof UpstreamFailure
    ? spentFailure(outlook.atMs, nowMs, told.thrown.failure)
    : told.thrown;
}

/** Returns whether a failure tells the caller what the outlook of the request is. */
function tells(failure: AttemptFailure, { kind }: Outlook): boolean {
  const isLasting = lastingCause(failure) !== undefined;
  const isSpent = isLimit(failure) && (failure.retryAfterMs ?? 0) >= LONG_MS;
  switch (kind) {
    case "lasting":
      return isLasting;
    case "spent":
      return isLimit(failure);
    case "soon":
      return !isLasting && !isSpent;
  }
}
