import type { AnyResponse } from "@gateway/http1";
import type { Connection } from "../config/config.ts";
import type { Operation, Protocol } from "@gateway/base/protocol";
import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import { type Failure, UpstreamFailure } from "@gateway/codecs";
import { withWait } from "./answer_failure.ts";
import { type Attempt, endsAtOutput, noteDeployment } from "./attempt.ts";
import {
  type AttemptFailure,
  attemptFailureOf,
  evidenceOf,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import { passFailure } from "./final_failure.ts";
import { createLimitGate, type LimitedRequest } from "./limit_gate.ts";
import { NativeFailure } from "./native/native_failure.ts";
import { NativeAttempt } from "./native/relay_native.ts";
import {
  type FailedAttempt,
  type FailedAttempts,
  isRefused,
  MAX_ATTEMPTS,
  wasSent,
} from "./next_attempts.ts";
import type { ConnectionSlot } from "./queue/slots.ts";
import { asWait } from "./queue/waiting_places.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { PromptParts } from "./request/prompt_parts.ts";
import type { RequestHead } from "./request/request_head.ts";
import type { Candidate } from "./routing/candidate.ts";
import { withWindow } from "./routing/attempt_report.ts";
import type { RoutedCandidates } from "./routing/conversations.ts";
import type { RelayServices, Uses } from "./services.ts";
import { checkTranslation } from "./translated/open_request.ts";
import { TranslatedAttempt } from "./translated/relay_translated.ts";
import { type AdmittedAttempt, AttemptAdmission } from "./attempt_admission.ts";

/**
 * Serves a request with the first attempt that gets a response (docs/design.md#failover). If all attempts fail, the
 * error names the requested model, not its fallbacks.
 *
 * @throws The error of the failed attempt that {@linkcode passFailure} chooses.
 * @throws {GatewayError} When no deployment may get the request now.
 * @throws {CallerLeft} When the caller disconnected before there was a response.
 */
export async function tryCandidates(
  exchange: Exchange,
  firstTask: FailoverTask,
  services: Omit<
    RelayServices,
    "admission" | "memory" | "conversations" | "cacheMisses"
  >,
): Promise<AnyResponse> {
  let task = firstTask;
  const failed: FailedAttempt[] = [];
  const gate = createLimitGate(task, exchange, services);
  const unserved = { exchange, failed, gate, memory: task.memory };
  const admission = new AttemptAdmission(unserved, services);
  for (;;) {
    const admitted = await admission.next(task.candidates);
    if (admitted === undefined) break;
    const outcome = await runAttempt(
      admitted,
      { exchange, task, failed, counted: admission.counted },
      services,
    );
    if (!("failure" in outcome)) {
      // After a response has begun, no attempt follows. A stream may last long, so its request body is freed.
      task.body.release();
      gate.warn(outcome, task.operation);
      return outcome;
    }
    failed.push(outcome);
    task = withRenewed(task, outcome);
    exchange.control.nextAttempt();
  }
  await refuseElsewhere({ exchange, task, failed }, services);
  const { candidates } = task;
  const { expectedMs } = admission;
  return passFailure(
    { exchange, candidates, failed, gate, expectedMs },
    services,
  );
}

/**
 * If the upstream refused a key that came from a token exchange, returns the connection with a newer key. Returns
 * `undefined` when there is no newer key, and after a second refusal.
 */
async function renewedAfter(
  refused: FailedAttempt,
  before: readonly FailedAttempt[],
  { renewedConnection }: Uses<"renewedConnection">,
): Promise<Connection | undefined> {
  if (!isKeyRefused(refused)) return undefined;
  if (before.filter(wasSent).length + 1 >= MAX_ATTEMPTS) return undefined;
  const { connection } = refused.candidate.deployment;
  const isSecond = before.some((one) =>
    isKeyRefused(one) &&
    one.candidate.deployment.connection.id === connection.id
  );
  return isSecond ? undefined : await renewedConnection(connection);
}

/** Inserts the connection with the renewed key before the connection whose key was refused. */
function withRenewed(
  task: FailoverTask,
  refused: FailedAttempt,
): FailoverTask {
  const { renewed } = refused;
  const { model } = refused.candidate.deployment;
  const same = renewed?.models.find(({ id }) => id === model.id);
  if (renewed === undefined || same === undefined) return task;
  const replacement = {
    ...refused.candidate,
    deployment: { connection: renewed, model: same },
  };
  // The refused candidate stays, so that the order of the candidates after it is kept.
  const withIt = (one: Candidate): [Candidate, ...Candidate[]] =>
    one === refused.candidate ? [replacement, one] : [one];
  const { own: [first, ...more], fallbacks, ...rest } = task.candidates;
  return {
    ...task,
    candidates: {
      ...rest,
      own: [...withIt(first), ...more.flatMap(withIt)],
      fallbacks: fallbacks.flatMap(withIt),
    },
  };
}

function isKeyRefused({ failure }: FailedAttempt): boolean {
  return failure.kind === "authentication" &&
    (failure.status === 401 || failure.status === 403);
}

/**
 * If the translation has refused every attempt so far, also checks the translation for the model's untried connections,
 * and adds the refusals to `failed`. Otherwise the caller might be asked to retry a request that no connection can
 * serve.
 */
async function refuseElsewhere(
  { exchange, task, failed }: Omit<AttemptContext, "failed" | "counted"> & {
    readonly failed: FailedAttempt[];
  },
  services: Uses<
    "translation" | "reasoningMemory" | "lessonBook" | "deadlines"
  >,
): Promise<void> {
  if (failed.length === 0 || failed.some(wasSent)) return;
  for (const candidate of task.candidates.own) {
    if (isRefused(candidate, failed)) continue;
    if (candidate.mode === "native") return;
    const attempt = attemptOf(
      { candidate, isProbe: false },
      { exchange, task, failed, counted: failed },
      services,
    );
    try {
      await checkTranslation(attempt, candidate.protocol, services);
      return;
    } catch (thrown) {
      const failure = attemptFailureOf(thrown);
      if (failure?.kind !== "untranslatable") throw thrown;
      failed.push({ candidate, failure, wasProbe: false, thrown });
    }
  }
}

/**
 * Makes an attempt, natively or translated, and reports its result to the health of its connection. The result of a
 * stream is known only at its end.
 *
 * @returns The response, or the failure when the upstream caused it.
 * @throws The error, when the upstream did not cause it.
 */
async function runAttempt(
  { next: { candidate }, report, slot }: AdmittedAttempt,
  context: AttemptContext,
  services:
    & ConstructorParameters<typeof NativeAttempt>[1]
    & ConstructorParameters<typeof TranslatedAttempt>[2]
    & Uses<"health" | "renewedConnection" | "quotas">,
): Promise<AnyResponse | FailedAttempt> {
  const { holds } = context.exchange;
  const attempt = attemptOf(
    { candidate, isProbe: report.isProbe, isAwaited: slot.isAwaited },
    context,
    services,
  );
  noteBeginning(candidate, context.exchange);
  try {
    const answer = candidate.mode === "native"
      ? await new NativeAttempt(attempt, services).relay()
      : await new TranslatedAttempt(attempt, candidate.protocol, services)
        .relay();
    report.answered();
    const { connection } = attempt.deployment;
    services.health.noteReading(
      connection,
      () => services.harvest.reading(connection),
    );
    // These are set before the next await. If the caller leaves during that await, the request ends.
    holds.slot = slot;
    holds.sent = attempt.sent;
    holds.report = (ending) => {
      if (ending === "complete") report.succeeded();
      else if (ending === "upstream_broken") {
        report.failed(
          attempt.lateFailure
            ? evidenceOf(withWait(attempt.lateFailure, services.clock.now()))
            : BROKE_OFF,
        );
      } else report.dismissed();
    };
    // Counting tokens is no turn of a conversation.
    if (attempt.operation !== "count_tokens") {
      await context.task.candidates.onServed?.(candidate);
    }
    return answer;
  } catch (error) {
    holds.slot = holds.report = undefined;
    const thrown =
      error instanceof UpstreamFailure && !(error instanceof NativeFailure)
        ? new UpstreamFailure(withWait(error.failure, services.clock.now()))
        : error;
    const evidence = attemptFailureOf(thrown);
    if (evidence === undefined) {
      report.dismissed();
      slot.leave();
      attempt.controller.abort();
      throw thrown;
    }
    const { connection } = attempt.deployment;
    const failure = asWait(
      withWindow(evidence, connection, services),
      connection,
    );
    noteFailed(failure, context.exchange);
    const outcome = {
      ...{ candidate, failure, wasProbe: report.isProbe, thrown },
      hadOutputDeadline: endsAtOutput(attempt),
    };
    try {
      // After the key is renewed, no cool-down is needed. A cool-down would refuse other requests.
      const renewed = await renewedAfter(outcome, context.failed, services);
      if (renewed === undefined) report.failed(failure);
      else report.dismissed();
      return { ...outcome, renewed };
    } finally {
      if (failure.kind === "rate_limited") slot.refused?.();
      slot.leave();
    }
  }
}

/** The failure when an answer breaks off after its first output and names no error. */
const BROKE_OFF: AttemptFailure = {
  kind: "broken",
  status: undefined,
  retryAfterMs: undefined,
};

/** An attempt with the facts that were noted about it. */
interface RunningAttempt extends Attempt {
  lateFailure: Failure | undefined;
  sent: PromptParts | undefined;
}

function attemptOf(
  { candidate, isProbe, isAwaited }:
    & Pick<ConnectionSlot, "isAwaited">
    & { readonly candidate: Candidate; readonly isProbe: boolean },
  { exchange, task, failed, counted }: AttemptContext,
  { deadlines }: Uses<"deadlines">,
): RunningAttempt {
  const { own, fallbacks } = task.candidates;
  const isOther = (one: Candidate) =>
    one !== candidate && !isRefused(one, failed) &&
    counted.every((other) => other.candidate !== one);
  const mayRepeat = failed.filter(wasSent).length + 1 < MAX_ATTEMPTS;
  const attempt: RunningAttempt = {
    exchange,
    operation: task.operation,
    bodyProtocol: task.bodyProtocol,
    deployment: candidate.deployment,
    body: task.body,
    memory: task.memory,
    head: task.head,
    startedMs: deadlines.elapsedMs(),
    overNewConnection: isProbe ||
      failed.some(({ failure, ...one }) =>
        failure.wasLost ||
        one.candidate === candidate && failure.status === undefined
      ),
    controller: exchange.control.controller,
    mayRepeat,
    isAwaited,
    mayFailOver: mayRepeat && (own.some(isOther) || fallbacks.some(isOther)),
    lateFailure: undefined,
    sent: undefined,
    noteFailure(failure) {
      attempt.lateFailure ??= failure;
    },
    noteSent(parts) {
      attempt.sent = parts;
    },
  };
  return attempt;
}

/** Adds an attempt to the record, and clears the answer of the previous attempt. The caller never saw that answer. */
function noteBeginning(candidate: Candidate, { record }: Exchange): void {
  const { facts } = record;
  const { deployment } = candidate;
  noteDeployment(candidate, facts);
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

/** A request and the candidates that may serve it. */
interface FailoverTask extends LimitedRequest {
  readonly operation: Operation;
  /** The protocol of the body, if the operation does not define it. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly body: KeptBody;
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  readonly candidates: RoutedCandidates;
}

/** A request and its failed attempts. */
interface AttemptContext extends FailedAttempts {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
}
