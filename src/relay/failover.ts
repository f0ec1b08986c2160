import type { Operation } from "../core/protocol.ts";
import { wait } from "../core/wait.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import type { Attempt } from "./attempt.ts";
import type { Exchange } from "./exchange.ts";
import { type Fault, faultOf, faultOfFailure } from "./fault.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { Trial } from "./routing/health.ts";
import { relayNative } from "./native/relay_native.ts";
import { NativeFailure } from "./native/native_failure.ts";
import {
  MAX_ATTEMPTS,
  nextSteps,
  type Step,
  type Tried,
} from "./next_steps.ts";
import type { Plan } from "./routing/candidate.ts";
import type { Question } from "./request/request_head.ts";
import type { RelayTools } from "./services.ts";
import { relayTranslated } from "./translated/relay_translated.ts";
import { unavailable } from "./routing/unavailable.ts";
import type { RoutedWays } from "./routing/quota_routing.ts";
import { withWindow } from "./routing/window_evidence.ts";

/** What is to be served, and every way in which it could be. */
export interface FailoverTask {
  readonly operation: Operation;
  readonly body: KeptBody;
  readonly memory: MemoryShare;
  readonly question: Question;
  readonly ways: RoutedWays;
}

/** An attempt that failed, with what was thrown. */
interface Failed extends Tried {
  readonly thrown: unknown;
}

/** An attempt that was let in. */
interface Entry {
  readonly step: Step;
  readonly trial: Trial;
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
  tools: RelayTools,
): Promise<Response> {
  const failed: Failed[] = [];
  for (;;) {
    const steps = nextSteps(task.ways, failed, tools.random);
    const entry = await enter(steps, exchange, tools);
    if (entry === undefined) break;
    const outcome = await attempt(entry, { exchange, task, failed }, tools);
    if (outcome instanceof Response) {
      // Nothing is sent again behind an answer, which may go on for long.
      task.body.letGo();
      return outcome;
    }
    failed.push(outcome);
    exchange.line.renew();
  }
  const told = failed.findLast(({ plan }) => task.ways.own.includes(plan)) ??
    failed.at(-1);
  if (told === undefined) {
    throw unavailable(task.ways, exchange.caller, tools.health);
  }
  if (told.thrown instanceof NativeFailure) return told.thrown.pass(exchange);
  throw told.thrown;
}

/**
 * Takes the first step that is allowed now. What is being probed, and may be well again, is taken where there is
 * nothing else.
 */
async function enter(
  steps: readonly Step[],
  exchange: Exchange,
  tools: RelayTools,
): Promise<Entry | undefined> {
  for (const step of steps) {
    if (step.again && !await awaitTurn(step, exchange, tools)) continue;
    const entry = tryStep(step, { exchange, isStranded: false }, tools);
    if (entry !== undefined) return entry;
  }
  for (const step of steps) {
    if (step.again) continue;
    const entry = tryStep(step, { exchange, isStranded: true }, tools);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** Waits until a connection may be asked again; `false` when it may not. */
async function awaitTurn(
  { plan: { candidate }, waitMs }: Step,
  { line }: Exchange,
  { budget, deadlines }: RelayTools,
): Promise<boolean> {
  if (!budget.spend(candidate.connection.id)) return false;
  await wait(waitMs, { deadlines, signal: line.controller.signal });
  return true;
}

/** Begins an attempt, if health and the connection's places allow it. */
function tryStep(
  step: Step,
  { exchange: { caller }, isStranded }: {
    readonly exchange: Exchange;
    readonly isStranded: boolean;
  },
  { health, budget, admission }: RelayTools,
): Entry | undefined {
  const { candidate } = step.plan;
  const { connection } = candidate;
  const asker = { caller, isRepeat: step.again, isStranded };
  const trial = health.begin(candidate, asker);
  if (trial === undefined) return undefined;
  const leave = admission.occupy(connection);
  if (leave === undefined) {
    trial.dismissed();
    return undefined;
  }
  if (!step.again) budget.earn(connection.id);
  return { step, trial, leave };
}

/** The request so far. */
interface Course {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
  readonly failed: readonly Failed[];
}

async function attempt(
  { step: { plan }, trial, leave }: Entry,
  course: Course,
  tools: RelayTools,
): Promise<Response | Failed> {
  const { record } = course.exchange;
  let lateFailure: Failure | undefined;
  const call = {
    ...attemptOf(plan, course, tools),
    noteFailure(failure: Failure) {
      lateFailure ??= failure;
    },
  };
  noteBeginning(plan, course.exchange);
  try {
    const answer = plan.mode === "native"
      ? await relayNative(call, tools)
      : await relayTranslated(call, plan.protocol, tools);
    trial.answered();
    course.task.ways.onServed?.(plan);
    record.onFinish((ending) => {
      leave();
      if (ending === "complete") trial.succeeded();
      else if (ending === "upstream_broken") {
        trial.failed(lateFault(lateFailure));
      } else trial.dismissed();
    });
    return answer;
  } catch (thrown) {
    leave();
    const told = faultOf(thrown);
    if (told === undefined) {
      trial.dismissed();
      call.controller.abort();
      throw thrown;
    }
    const fault = withWindow(told, call.candidate.connection, tools);
    trial.failed(fault);
    noteFailure(fault, course.exchange);
    return { plan, fault, wasProbe: trial.isProbe, thrown };
  }
}

/** What was wrong with an answer that ended badly after its first output: what it says, or that it broke off. */
function lateFault(failure: Failure | undefined): Fault {
  return failure === undefined
    ? { kind: "broken", status: undefined, retryAfterMs: undefined }
    : faultOfFailure(failure);
}

function attemptOf(
  plan: Plan,
  { exchange, task, failed }: Course,
  { deadlines }: RelayTools,
): Omit<Attempt, "noteFailure"> {
  const { own, fallbacks } = task.ways;
  const mayRepeat = failed.length + 1 < MAX_ATTEMPTS;
  const untried = own.length + fallbacks.length -
    new Set(failed.map((one) => one.plan)).add(plan).size;
  return {
    exchange,
    operation: task.operation,
    candidate: plan.candidate,
    body: task.body,
    memory: task.memory,
    question: task.question,
    startedMs: deadlines.elapsedMs(),
    controller: exchange.line.controller,
    mayRepeat,
    mayMoveOn: mayRepeat && untried > 0,
  };
}

/** The record's fields tell of the last attempt alone. */
function noteBeginning(
  { candidate, mode }: Plan,
  { record }: Exchange,
): void {
  const { facts } = record;
  facts.connection = candidate.connection.name;
  facts.upstreamModel = candidate.model.upstream;
  facts.mode = mode;
  facts.attempts.push({
    connection: candidate.connection.name,
    model: candidate.model.id,
    startedMs: record.elapsedMs(),
  });
  if (facts.attempts.length === 1) return;
  delete facts.upstreamStatus;
  delete facts.upstreamRequestId;
  delete facts.firstByteMs;
  delete facts.firstOutputMs;
  delete facts.dropped;
  delete facts.droppedParts;
  delete facts.usage;
  delete facts.stopReason;
}

function noteFailure({ kind }: Fault, { record }: Exchange): void {
  const one = record.facts.attempts.at(-1);
  if (one === undefined) return;
  one.failed = {
    why: kind,
    status: record.facts.upstreamStatus,
    atMs: record.elapsedMs(),
  };
}
