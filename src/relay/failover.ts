import { NOT_AGAIN } from "../core/should_retry.ts";
import { UpstreamFailure } from "../protocols/canonical/failure/failure.ts";
import { admitFirst } from "./admit_attempt.ts";
import { isLimit } from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import type { AttemptContext, FailoverTask } from "./failover_task.ts";
import { createLimitGate, type LimitGate } from "./limit_gate.ts";
import { NativeFailure } from "./native/native_failure.ts";
import { type FailedAttempt, nextAttempts } from "./next_attempts.ts";
import { spentFailure, spentUntilMs } from "./routing/spent.ts";
import { unavailable } from "./routing/unavailable.ts";
import { runAttempt } from "./run_attempt.ts";
import type { RelayServices } from "./services.ts";

/**
 * Serves a request by the first way that gives an answer (docs/design.md#failover). The caller of a request that
 * nobody serves is told of the model that was asked for, not of those that should have stood in.
 *
 * @throws What the last attempt threw.
 * @throws {GatewayError} `overloaded`, with `Retry-After`, when nothing may be asked now.
 * @throws {CallerLeft} When the caller left before there was an answer.
 */
export async function serve(
  exchange: Exchange,
  task: FailoverTask,
  services: RelayServices,
): Promise<Response> {
  const failed: FailedAttempt[] = [];
  const gate = createLimitGate(task.tally, exchange, services);
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
 * Tells the caller of a request that nobody serves what its own model's connection said last.
 *
 * @returns The upstream's own error, where it may pass as it is.
 * @throws Every other failure.
 */
function passFailure(
  { exchange, task, failed }: AttemptContext,
  gate: LimitGate,
  services: RelayServices,
): Response {
  const { own } = task.candidates;
  const told = failed.findLast(({ candidate }) => own.includes(candidate)) ??
    failed.at(-1);
  const { caller } = exchange;
  const untilMs = spentUntilMs(task.candidates, { caller, failed }, services);
  if (told === undefined) {
    throw whyNone(gate, { exchange, task, untilMs }, services);
  }
  const isSpent = untilMs !== undefined && isLimit(told.failure);
  if (told.thrown instanceof NativeFailure) {
    return told.thrown.pass(exchange, isSpent ? NOT_AGAIN : {});
  }
  throw isSpent && told.thrown instanceof UpstreamFailure
    ? spentFailure(untilMs, services.clock.now(), told.thrown.failure)
    : told.thrown;
}

/** The error for a caller for whom no attempt could be made. */
function whyNone(
  gate: LimitGate,
  { exchange, task, untilMs }: Pick<AttemptContext, "exchange" | "task"> & {
    /** When connections that are all used up have something left again. */
    readonly untilMs: number | undefined;
  },
  { health, clock }: RelayServices,
): Error {
  const { own, fallbacks } = task.candidates;
  const allowed = gate.allowed([...own, ...fallbacks]);
  const refusal = allowed.length === 0 ? gate.refusal() : undefined;
  if (refusal !== undefined) return refusal;
  return untilMs === undefined
    ? unavailable(allowed, exchange.caller, health)
    : spentFailure(untilMs, clock.now());
}
