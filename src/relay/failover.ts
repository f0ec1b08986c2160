import type { Operation, Protocol } from "../core/protocol.ts";
import { NOT_AGAIN } from "../core/should_retry.ts";
import { wait } from "../core/wait.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import type { Attempt } from "./attempt.ts";
import type { Exchange } from "./exchange.ts";
import {
  type AttemptFailure,
  attemptFailureOf,
  evidenceOf,
  LOG_WORD_BY_KIND,
} from "./attempt_failure.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { AttemptReport } from "./routing/attempt_report.ts";
import { relayNative } from "./native/relay_native.ts";
import { NativeFailure } from "./native/native_failure.ts";
import {
  type FailedAttempt,
  MAX_ATTEMPTS,
  type NextAttempt,
  nextAttempts,
} from "./next_attempts.ts";
import type { Candidate } from "./routing/candidate.ts";
import type { RequestHead } from "./request/request_head.ts";
import type { RelayServices } from "./services.ts";
import { relayTranslated } from "./translated/relay_translated.ts";
import { spentFailure, spentUntilMs } from "./routing/spent.ts";
import { unavailable } from "./routing/unavailable.ts";
import type { RoutedCandidates } from "./routing/quota_routing.ts";
import { withWindow } from "./routing/window_evidence.ts";
import type { Tally } from "../usage/tally.ts";
import { createLimitGate, type LimitGate } from "./limit_gate.ts";

/** What is to be served, and every way in which it could be. */
export interface FailoverTask {
  readonly operation: Operation;
  /** The protocol of the body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly body: KeptBody;
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  readonly candidates: RoutedCandidates;
  /** Counts the request; absent for one that nobody counts. */
  readonly tally: Tally | undefined;
}

/** An attempt that was let in. */
interface AdmittedAttempt {
  readonly next: NextAttempt;
  readonly report: AttemptReport;
  /** Gives the connection's place back. */
  readonly leave: () => void;
}

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
  const told =
    failed.findLast(({ candidate }) =>
      task.candidates.own.includes(candidate)
    ) ??
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

function isLimit({ kind }: AttemptFailure): boolean {
  return kind === "rate_limited" || kind === "quota";
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

/**
 * Begins the first attempt that is allowed now. What is being probed, and may be well again, is taken where there is
 * nothing else.
 */
async function admitFirst(
  attempts: readonly NextAttempt[],
  asked: Pick<Admittance, "exchange" | "gate">,
  services: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  for (const next of attempts) {
    if (next.again && !await awaitTurn(next, asked.exchange, services)) {
      continue;
    }
    const admitted = await admit(
      next,
      { ...asked, isStranded: false },
      services,
    );
    if (admitted !== undefined) return admitted;
  }
  for (const next of attempts) {
    if (next.again || asked.gate.allowed([next.candidate]).length === 0) {
      continue;
    }
    const admitted = await admit(
      next,
      { ...asked, isStranded: true },
      services,
    );
    if (admitted !== undefined) return admitted;
  }
  return undefined;
}

/** Who wants an attempt admitted. */
interface Admittance {
  readonly exchange: Exchange;
  readonly gate: LimitGate;
  /** Whether there is nothing else. */
  readonly isStranded: boolean;
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

/** Begins an attempt, if health, the connection's places and the token's limits allow it. */
async function admit(
  next: NextAttempt,
  { exchange: { caller }, gate, isStranded }: Admittance,
  { health, budget, admission }: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  const { deployment } = next.candidate;
  const { connection } = deployment;
  const asker = { caller, isRepeat: next.again, isStranded };
  const report = health.begin(deployment, asker);
  if (report === undefined) return undefined;
  const leave = admission.occupy(connection);
  if (leave === undefined) {
    report.dismissed();
    return undefined;
  }
  const entered = gate.enter(next.candidate);
  if (entered instanceof Promise ? !await entered : !entered) {
    leave();
    report.dismissed();
    return undefined;
  }
  if (!next.again) budget.earn(connection.id);
  return { next, report, leave };
}

/** The request so far. */
interface AttemptContext {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
  readonly failed: readonly FailedAttempt[];
}

async function runAttempt(
  { next: { candidate }, report, leave }: AdmittedAttempt,
  context: AttemptContext,
  services: RelayServices,
): Promise<Response | FailedAttempt> {
  const { record } = context.exchange;
  let lateFailure: Failure | undefined;
  const call = {
    ...attemptOf(candidate, context, services),
    noteFailure(failure: Failure) {
      lateFailure ??= failure;
    },
  };
  noteBeginning(candidate, context.exchange);
  try {
    const answer = candidate.mode === "native"
      ? await relayNative(call, services)
      : await relayTranslated(call, candidate.protocol, services);
    report.answered();
    context.task.candidates.onServed?.(candidate);
    record.onFinish((ending) => {
      leave();
      if (ending === "complete") report.succeeded();
      else if (ending === "upstream_broken") {
        report.failed(lateEvidence(lateFailure));
      } else report.dismissed();
    });
    return answer;
  } catch (thrown) {
    leave();
    const told = attemptFailureOf(thrown);
    if (told === undefined) {
      report.dismissed();
      call.controller.abort();
      throw thrown;
    }
    const failure = withWindow(told, call.deployment.connection, services);
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

function attemptOf(
  candidate: Candidate,
  { exchange, task, failed }: AttemptContext,
  { deadlines }: RelayServices,
): Omit<Attempt, "noteFailure"> {
  const { own, fallbacks } = task.candidates;
  const mayRepeat = failed.length + 1 < MAX_ATTEMPTS;
  const untried = own.length + fallbacks.length -
    new Set(failed.map((one) => one.candidate)).add(candidate).size;
  return {
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
    mayMoveOn: mayRepeat && untried > 0,
  };
}

/** The record tells of the last attempt's answer alone. */
function noteBeginning(
  { deployment, mode }: Candidate,
  { record }: Exchange,
): void {
  const { facts } = record;
  facts.connection = deployment.connection.name;
  facts.upstreamModel = deployment.model.upstream;
  facts.mode = mode;
  facts.answer = {};
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
    why: LOG_WORD_BY_KIND[kind],
    status: record.facts.answer.upstreamStatus,
    atMs: record.elapsedMs(),
  };
}
