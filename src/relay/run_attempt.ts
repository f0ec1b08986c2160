import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import type { AdmittedAttempt } from "./admit_attempt.ts";
import type { Attempt } from "./attempt.ts";
import {
  type AttemptFailure,
  attemptFailureOf,
  evidenceOf,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import type { AttemptContext } from "./failover_task.ts";
import { relayNative } from "./native/relay_native.ts";
import { type FailedAttempt, MAX_ATTEMPTS } from "./next_attempts.ts";
import type { Candidate } from "./routing/candidate.ts";
import type { Candidates } from "./routing/candidates.ts";
import { withWindow } from "./routing/window_evidence.ts";
import type { RelayServices } from "./services.ts";
import { relayTranslated } from "./translated/relay_translated.ts";

/**
 * Makes an attempt, natively or translated, and reports to the health of its connection how it ended, which of a
 * stream is known long after there is an answer.
 *
 * @returns The answer, or why there is none when the upstream is to blame.
 * @throws What ended the attempt where the upstream had no part in it.
 */
export async function runAttempt(
  { next: { candidate }, report, leave }: AdmittedAttempt,
  context: AttemptContext,
  services: RelayServices,
): Promise<Response | FailedAttempt> {
  const { record } = context.exchange;
  const attempt = attemptOf(candidate, context, services);
  noteBeginning(candidate, context.exchange);
  try {
    const answer = candidate.mode === "native"
      ? await relayNative(attempt, services)
      : await relayTranslated(attempt, candidate.protocol, services);
    report.answered();
    context.task.candidates.onServed?.(candidate);
    record.onFinish((ending) => {
      leave();
      if (ending === "complete") report.succeeded();
      else if (ending === "upstream_broken") {
        report.failed(lateEvidence(attempt.lateFailure));
      } else report.dismissed();
    });
    return answer;
  } catch (thrown) {
    leave();
    const told = attemptFailureOf(thrown);
    if (told === undefined) {
      report.dismissed();
      attempt.controller.abort();
      throw thrown;
    }
    const failure = withWindow(told, attempt.deployment.connection, services);
    report.failed(failure);
    noteFailed(failure, context.exchange);
    return { candidate, failure, wasProbe: report.isProbe, thrown };
  }
}

/** What was wrong with an answer that ended badly after its first output: what it says, or that it broke off. */
function lateEvidence(failure: Failure | undefined): AttemptFailure {
  return failure === undefined
    ? { kind: "broken", status: undefined, retryAfterMs: undefined }
    : evidenceOf(failure);
}

/** An attempt that takes in what its answer says of a failure. */
interface RunningAttempt extends Attempt {
  lateFailure: Failure | undefined;
}

function attemptOf(
  candidate: Candidate,
  { exchange, task, failed }: AttemptContext,
  { deadlines }: RelayServices,
): RunningAttempt {
  const mayRepeat = failed.length + 1 < MAX_ATTEMPTS;
  const attempt: RunningAttempt = {
    exchange,
    operation: task.operation,
    bodyProtocol: task.bodyProtocol,
    deployment: candidate.deployment,
    body: task.body,
    memory: task.memory,
    head: task.head,
    startedMs: deadlines.elapsedMs(),
    controller: exchange.control.controller,
    mayRepeat,
    mayMoveOn: mayRepeat && hasOthers(candidate, task.candidates, failed),
    lateFailure: undefined,
    noteFailure(failure) {
      attempt.lateFailure ??= failure;
    },
  };
  return attempt;
}

/** Whether there is a way that was not tried before. */
function hasOthers(
  candidate: Candidate,
  { own, fallbacks }: Candidates,
  failed: readonly FailedAttempt[],
): boolean {
  const isOther = (one: Candidate) =>
    one !== candidate && failed.every((other) => other.candidate !== one);
  return own.some(isOther) || fallbacks.some(isOther);
}

/** The record says of the last attempt alone what its answer was; nothing of those before has gone out. */
function noteBeginning(
  { deployment, mode }: Candidate,
  { record }: Exchange,
): void {
  const { facts } = record;
  facts.connection = deployment.connection.name;
  facts.upstreamModel = deployment.model.upstream;
  facts.mode = mode;
  facts.answer = {};
  facts.bytesOut = 0;
  facts.attempts.push({
    connection: deployment.connection.name,
    model: deployment.model.id,
    startedMs: record.elapsedMs(),
  });
}

function noteFailed({ kind }: AttemptFailure, { record }: Exchange): void {
  const one = record.facts.attempts.at(-1);
  if (one === undefined) return;
  one.failed = {
    why: FAILURE_WORD_BY_KIND[kind],
    status: record.facts.answer.upstreamStatus,
    atMs: record.elapsedMs(),
  };
}
