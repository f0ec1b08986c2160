import type { GatewayError } from "../core/error.ts";
import type { Operation, Protocol } from "../core/protocol.ts";
import { wait } from "../core/time/deadlines.ts";
import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { limitExceeded, warningWords } from "../usage/limit_words.ts";
import type { LimitRefusal } from "../usage/limiter.ts";
import type { Tally } from "../usage/tally.ts";
import type { Attempt } from "./attempt.ts";
import {
  type AttemptFailure,
  attemptFailureOf,
  evidenceOf,
  isLimit,
  lastingCause,
} from "./attempt_failure.ts";
import type { Exchange } from "./exchange.ts";
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
import {
  type Candidate,
  type NamedInBody,
  servingDeployments,
} from "./routing/candidate.ts";
import { type AttemptReport, withWindow } from "./routing/attempt_report.ts";
import type { Asker } from "./routing/health.ts";
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
 * Serves a request by the first way that gives an answer (docs/design.md#failover). The caller of a request that
 * nobody serves is told of the model that was asked for, not of those that should have stood in.
 *
 * @throws What the last attempt threw.
 * @throws {GatewayError} When nothing may be asked now.
 * @throws {CallerLeft} When the caller left before there was an answer.
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
    throw outlook.kind === "exhausted" && outlook.limited !== undefined
      ? gate.refusal(outlook.limited)
      : outlookError(outlook, nowMs);
  }
  const isExhausted = outlook.kind === "exhausted" && isLimit(told.failure);
  if (told.thrown instanceof NativeFailure) {
    return told.thrown.pass(exchange, isExhausted);
  }
  throw isExhausted && told.thrown instanceof UpstreamFailure
    ? exhaustedFailure(outlook.atMs, nowMs, told.thrown.failure)
    : told.thrown;
}

/** Returns whether a failure tells the caller what the outlook of the request is. */
function tells(failure: AttemptFailure, { kind }: Outlook): boolean {
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
 * Makes an attempt, natively or translated, and reports to the health of its connection how it ended, which of a
 * stream is known long after there is an answer.
 *
 * @returns The answer, or why there is none when the upstream is to blame.
 * @throws What ended the attempt where the upstream had no part in it.
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

/** What was wrong with an answer that ended badly after its first output, and does not say why. */
const BROKE_OFF: AttemptFailure = {
  kind: "broken",
  status: undefined,
  retryAfterMs: undefined,
};

/** An attempt that takes in what its answer says of a failure. */
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
    mayMoveOn: mayRepeat && (own.some(isOther) || fallbacks.some(isOther)),
    lateFailure: undefined,
    noteFailure(failure) {
      attempt.lateFailure ??= failure;
    },
  };
  return attempt;
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

/** An attempt that was let in. */
interface AdmittedAttempt {
  readonly next: NextAttempt;
  readonly report: AttemptReport;
  /** Gives the connection's place back. */
  readonly leave: () => void;
}

/**
 * Begins the first attempt that is allowed now. What is being probed, and may be well again, is taken where there is
 * nothing else.
 *
 * @returns `undefined` when none is allowed.
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
      const asker = { caller: exchange.caller, isRepeat, hasNoAlternative };
      const begun = begin(next, asker, services);
      if (begun === undefined) continue;
      const entered = gate.enter(candidate);
      // What is known at once is not waited for.
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

/** Waits until a connection may be asked again; `false` when it may not. */
async function awaitTurn(
  { candidate: { deployment }, waitMs }: NextAttempt,
  { control }: Exchange,
  { budget, deadlines }: RelayServices,
): Promise<boolean> {
  if (!budget.spend(deployment.connection.id)) return false;
  await wait(waitMs, { deadlines, signal: control.controller.signal });
  return true;
}

/** Begins an attempt, if health and the connection's places allow it. */
function begin(
  next: NextAttempt,
  asker: Asker,
  { health, admission }: RelayServices,
): AdmittedAttempt | undefined {
  const { deployment } = next.candidate;
  const report = health.begin(deployment, asker);
  if (report === undefined) return undefined;
  const leave = admission.occupy(deployment.connection);
  if (leave !== undefined) return { next, report, leave };
  report.dismissed();
  return undefined;
}

/** Holds a request to the limits of its token, attempt by attempt. */
interface LimitGate {
  /** Whether the limits have room for an attempt; what it needs is reserved then. */
  enter(candidate: Candidate): boolean | Promise<boolean>;
  /** When the limit resets that has kept the request from a candidate, in milliseconds since 1970; `undefined`: none. */
  limitedUntilMs(candidate: Candidate): number | undefined;
  /** The error for a caller whom a limit has kept from a candidate. */
  refusal(candidate: Candidate): GatewayError | undefined;
  /** Tells in an answer's headers that a limit is nearly used up. */
  warn(answer: Response): void;
}

/** A gate for one request; without a tally it is open. */
function createLimitGate(
  { tally, named }: Pick<FailoverTask, "tally" | "named">,
  { caller }: Pick<Exchange, "caller">,
  { usage, clock }: Pick<RelayServices, "usage" | "clock">,
): LimitGate {
  const refusals = new Map<Candidate, LimitRefusal>();

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
      const refusal = tally.enter(
        servingDeployments(candidate, named, caller),
      );
      return refusal instanceof Promise
        ? refusal.then((one) => learn(candidate, one))
        : learn(candidate, refusal);
    },
    limitedUntilMs: (candidate) => refusals.get(candidate)?.resetsAtMs,
    refusal(candidate) {
      const refusal = refusals.get(candidate);
      if (refusal === undefined) return undefined;
      usage.refused(refusal, caller);
      return limitExceeded(refusal, clock.now());
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

/** What is to be served, and every way in which it could be. */
interface FailoverTask {
  readonly operation: Operation;
  /** The protocol of the body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly body: KeptBody;
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  readonly named: NamedInBody;
  readonly candidates: RoutedCandidates;
  /** Counts the request; absent for one that nobody counts. */
  readonly tally: Tally | undefined;
}

/** The request so far. */
interface AttemptContext {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
  readonly failed: readonly FailedAttempt[];
}
