import type { Operation, Protocol } from "../core/protocol.ts";
import { wait } from "../core/time/deadlines.ts";
import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import type { Attempt } from "./attempt.ts";
import {
  type AttemptFailure,
  attemptFailureOf,
  evidenceOf,
  isLimit,
  lastingCause,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
import {
  createLimitGate,
  type LimitedRequest,
  type LimitGate,
} from "./limit_gate.ts";
import { NativeFailure } from "./native/native_failure.ts";
import { relayNative } from "./native/relay_native.ts";
import {
  type FailedAttempt,
  MAX_ATTEMPTS,
  type NextAttempt,
  nextAttempts,
} from "./next_attempts.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { RequestHead } from "./request/request_head.ts";
import type { Candidate } from "./routing/candidate.ts";
import { type AttemptReport, withWindow } from "./routing/attempt_report.ts";
import type { BeginOptions } from "./routing/health.ts";
import {
  exhaustedFailure,
  LONG_MS,
  type Outlook,
  outlookError,
  outlookOf,
} from "./routing/outlook.ts";
import type { RoutedCandidates } from "./routing/quota_routing.ts";
import type { RelayServices } from "./services.ts";
import { relayTranslated } from "./translated/relay_translated.ts";

/**
 * Serves a request with the first attempt that gets a response (docs/design.md#failover). If all attempts fail, the
 * error names the requested model, not its fallbacks.
 *
 * @throws The error of the last attempt.
 * @throws {GatewayError} When no deployment may get the request now.
 * @throws {CallerLeft} When the caller disconnected before there was a response.
 */
export async function tryCandidates(
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
      // After a response has begun, no attempt follows. A stream may last long, so its request body is freed.
      task.body.release();
      gate.warn(outcome);
      return outcome;
    }
    failed.push(outcome);
    exchange.control.nextAttempt();
  }
  return passFailure({ exchange, task, failed }, gate, services);
}

/**
 * Returns or throws the error for a request that no attempt served. It must fit the {@linkcode Outlook}: a client must
 * neither stop nor wait long if it can soon be served, and must not retry in vain. The last fitting failure is used;
 * the requested model's come first.
 *
 * @returns The upstream's own error, where it may pass unchanged.
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
  const fitting = (ofOwn.length > 0 ? ofOwn : failed)
    .findLast(({ failure }) => fitsOutlook(failure, outlook));
  const last = fitting ?? failed.at(-1);
  if (last !== undefined) {
    exchange.record.facts.failure = FAILURE_WORD_BY_KIND[last.failure.kind];
  }
  const nowMs = services.clock.now();
  if (fitting === undefined) {
    throw outlook.kind === "exhausted" && outlook.limited !== undefined
      ? gate.refusal(outlook.limited)
      : outlookError(outlook, nowMs);
  }
  const isExhausted = outlook.kind === "exhausted" && isLimit(fitting.failure);
  if (fitting.thrown instanceof NativeFailure) {
    return fitting.thrown.pass(exchange, isExhausted);
  }
  throw isExhausted && fitting.thrown instanceof UpstreamFailure
    ? exhaustedFailure(outlook.atMs, nowMs, fitting.thrown.failure)
    : fitting.thrown;
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

/**
 * Makes an attempt, natively or translated, and reports its result to the health of its connection. The result of a
 * stream is known only at its end.
 *
 * @returns The response, or the failure when the upstream caused it.
 * @throws The error of an attempt that the upstream did not cause.
 */
async function runAttempt(
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
        report.failed(
          attempt.lateFailure ? evidenceOf(attempt.lateFailure) : BROKE_OFF,
        );
      } else report.dismissed();
    });
    return answer;
  } catch (thrown) {
    leave();
    const evidence = attemptFailureOf(thrown);
    if (evidence === undefined) {
      report.dismissed();
      attempt.controller.abort();
      throw thrown;
    }
    const failure = withWindow(
      evidence,
      attempt.deployment.connection,
      services,
    );
    report.failed(failure);
    noteFailed(failure, context.exchange);
    return { candidate, failure, wasProbe: report.isProbe, thrown };
  }
}

/** The failure of an answer that breaks off after its first output without an error. */
const BROKE_OFF: AttemptFailure = {
  kind: "broken",
  status: undefined,
  retryAfterMs: undefined,
};

/** An attempt that keeps the failure that {@linkcode Attempt.noteFailure} reports. */
interface RunningAttempt extends Attempt {
  lateFailure: Failure | undefined;
}

function attemptOf(
  candidate: Candidate,
  { exchange, task, failed }: AttemptContext,
  { deadlines }: RelayServices,
): RunningAttempt {
  const { own, fallbacks } = task.candidates;
  const isOther = (one: Candidate) =>
    one !== candidate && failed.every((other) => other.candidate !== one);
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
    mayFailOver: mayRepeat && (own.some(isOther) || fallbacks.some(isOther)),
    lateFailure: undefined,
    noteFailure(failure) {
      attempt.lateFailure ??= failure;
    },
  };
  return attempt;
}

/** Adds an attempt to the record and clears the answer of the one before, which the caller never saw. */
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

/** An attempt that health, the connection and the limits have admitted. */
interface AdmittedAttempt {
  readonly next: NextAttempt;
  readonly report: AttemptReport;
  /** Frees the connection's slot. */
  readonly leave: () => void;
}

/**
 * Begins the first attempt that is allowed now. A connection whose recovery is being probed is used only if there is no
 * other.
 *
 * @returns `undefined` when no attempt is allowed.
 */
async function admitFirst(
  attempts: readonly NextAttempt[],
  { exchange, gate }: { readonly exchange: Exchange; readonly gate: LimitGate },
  services: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  for (const hasNoAlternative of [false, true]) {
    for (const next of attempts) {
      const { candidate, isRepeat } = next;
      const mayTry = hasNoAlternative
        ? !isRepeat && gate.limitedUntilMs(candidate) === undefined
        : !isRepeat || await awaitTurn(next, exchange, services);
      if (!mayTry) continue;
      const options = { caller: exchange.caller, isRepeat, hasNoAlternative };
      const begun = begin(next, options, services);
      if (begun === undefined) continue;
      const entered = gate.enter(candidate);
      // A result that is not a promise needs no `await`.
      if (entered instanceof Promise ? await entered : entered) {
        if (!isRepeat) services.budget.earn(candidate.deployment.connection.id);
        return begun;
      }
      begun.leave();
      begun.report.dismissed();
    }
  }
  return undefined;
}

/** Waits before the next request to the same connection. Returns `false` when the retry budget forbids one. */
async function awaitTurn(
  { candidate: { deployment }, waitMs }: NextAttempt,
  { control }: Exchange,
  { budget, deadlines }: RelayServices,
): Promise<boolean> {
  if (!budget.spend(deployment.connection.id)) return false;
  await wait(waitMs, { deadlines, signal: control.controller.signal });
  return true;
}

/** Begins an attempt if the connection is healthy and has a free slot. */
function begin(
  next: NextAttempt,
  options: BeginOptions,
  { health, admission }: RelayServices,
): AdmittedAttempt | undefined {
  const { deployment } = next.candidate;
  const report = health.begin(deployment, options);
  if (report === undefined) return undefined;
  const leave = admission.occupy(deployment.connection);
  if (leave !== undefined) return { next, report, leave };
  report.dismissed();
  return undefined;
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
interface AttemptContext {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
  readonly failed: readonly FailedAttempt[];
}
