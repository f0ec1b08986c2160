import type { Deployment } from "../config/config.ts";
import { wait } from "@gateway/base/time/deadlines";
import type { Exchange } from "./exchange.ts";
import type { LimitGate } from "./limit_gate.ts";
import {
  type FailedAttempt,
  type NextAttempt,
  nextAttempts,
} from "./next_attempts.ts";
import type { QueuedRequest } from "./queue/queue.ts";
import { type ConnectionSlot, FULL, type WaitingPlace } from "./queue/slots.ts";
import { homePlace, waitingPlaces } from "./queue/waiting_places.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { AttemptReport } from "./routing/attempt_report.ts";
import type { RoutedCandidates } from "./routing/conversations.ts";
import type { BeginOptions } from "./routing/health.ts";
import type { Uses } from "./services.ts";

/** An attempt that health, the connection and the limits have admitted. */
export interface AdmittedAttempt {
  readonly next: NextAttempt;
  readonly report: AttemptReport;
  /** The connection's slot. */
  readonly slot: ConnectionSlot;
}

/** A request that no attempt has served yet. */
interface UnservedRequest {
  readonly exchange: Exchange;
  /** All failed attempts. */
  readonly failed: readonly FailedAttempt[];
  readonly gate: LimitGate;
  /** The memory of the request's body. The body may be evicted while the request waits. */
  readonly memory: Pick<MemoryShare, "wait">;
}

type AdmissionServices = Uses<
  "queue" | "health" | "budget" | "deadlines" | "random" | "clock"
>;

/** Admits the attempts of one request, one by one. If the configuration allows it, the request waits for room. */
export class AttemptAdmission {
  readonly #request: UnservedRequest;
  readonly #services: AdmissionServices;
  readonly #place: QueuedRequest;
  /** The number of failed attempts before the last wait. The rate limits of these attempts no longer count. */
  #before = 0;
  #expectedMs: number | undefined;

  constructor(request: UnservedRequest, services: AdmissionServices) {
    this.#request = request;
    this.#services = services;
    this.#place = services.queue.open(request.exchange);
    request.exchange.holds.place = this.#place;
  }

  /** The failed attempts that decide the next attempt. After a wait, earlier rate limits no longer count. */
  get counted(): readonly FailedAttempt[] {
    const { failed } = this.#request;
    return this.#before === 0
      ? failed
      : failed.filter(({ failure }, index) =>
        index >= this.#before || failure.kind !== "rate_limited"
      );
  }

  /** The time until the request could be served, in milliseconds. Set only if the request cannot wait that long. */
  get expectedMs(): number | undefined {
    return this.#expectedMs;
  }

  /**
   * Admits the next attempt.
   *
   * @param candidates The request's candidates now. A renewed key adds a candidate.
   * @returns `undefined` when no attempt may begin in time.
   * @throws The reason of the cancellation, if the request was cancelled.
   */
  async next(
    candidates: RoutedCandidates,
  ): Promise<AdmittedAttempt | undefined> {
    const { failed, memory, exchange: { caller, control } } = this.#request;
    const unserved = { ...this.#request, caller, candidates };
    let hadRoom = false;
    let mayReturn = false;
    for (let mayStay = true;;) {
      const own = mayStay
        ? homePlace(unserved, this.#place.waitedMs, this.#services)
        : undefined;
      const home = own && this.#mayFollow(own.deployment, candidates)
        ? own
        : undefined;
      const attempts = this.#attempts(candidates, home);
      const admitted = await this.#admitFirst(
        attempts.filter(({ isReturn }) => mayReturn || !isReturn),
      );
      this.#place.release();
      if (admitted !== undefined) return admitted;
      const places = home === undefined
        ? waitingPlaces(unserved, this.#services)
          .filter(({ deployment }) => this.#mayFollow(deployment, candidates))
        : [home];
      let result = FULL;
      if (places.length > 0) {
        const stop = memory.wait((error) => control.cancel(error));
        result = await this.#place
          .wait(hadRoom ? places.map(afterPause) : places).finally(stop);
      }
      hadRoom = result.kind === "room";
      if (result.kind === "room") this.#before = failed.length;
      else if (home !== undefined) mayStay = false;
      else if (!mayReturn && attempts.some(({ isReturn }) => isReturn)) {
        mayReturn = true;
      } else {
        this.#expectedMs = result.expectedMs;
        return undefined;
      }
    }
  }

  /** Returns true when the next attempt may use `deployment` after a wait. Then earlier rate limits no longer count. */
  #mayFollow(deployment: Deployment, candidates: RoutedCandidates): boolean {
    const { failed } = this.#request;
    if (failed.length === 0) return true;
    const counted = failed
      .filter(({ failure }) => failure.kind !== "rate_limited");
    const { random } = this.#services;
    return nextAttempts(candidates, { failed, counted }, random)
      .some(({ candidate }) => candidate.deployment === deployment);
  }

  /**
   * Returns the attempts that may follow, the best first. If the last attempt hit a rate limit and its connection has a
   * queue, the retry after a pause is left out, because the request waits in the queue instead.
   *
   * @param home The only place where the next attempt may begin; `undefined` if the attempt may begin anywhere.
   */
  #attempts(
    candidates: RoutedCandidates,
    home: WaitingPlace | undefined,
  ): readonly NextAttempt[] {
    const { failed } = this.#request;
    const { counted } = this;
    const { random } = this.#services;
    const next = nextAttempts(candidates, { failed, counted }, random);
    const wasLimited = failed.at(-1)?.failure.kind === "rate_limited";
    if (home === undefined && !wasLimited) return next;
    return next.filter(({ isRepeat, candidate: { deployment } }) => {
      const waitsInQueue = isRepeat && wasLimited &&
        deployment.connection.queue !== undefined;
      return !waitsInQueue &&
        (home === undefined || deployment === home.deployment);
    });
  }

  /**
   * Begins the first attempt that is allowed now. A connection under a recovery probe is used only if no other
   * connection is left. A connection whose provider asked for a long wait is used only if nothing else can serve.
   *
   * @returns `undefined` when no attempt is allowed.
   */
  async #admitFirst(
    attempts: readonly NextAttempt[],
  ): Promise<AdmittedAttempt | undefined> {
    const { exchange: { caller, control }, gate } = this.#request;
    const { signal } = control.controller;
    for (const resort of RESORTS) {
      for (const next of attempts) {
        const { candidate, isRepeat } = next;
        const mayTry = resort.hasNoAlternative
          ? !isRepeat && gate.limitedUntilMs(candidate) === undefined
          : !isRepeat || await this.#awaitRepeat(next);
        if (!mayTry) continue;
        const begun = this.#begin(next, { caller, isRepeat, ...resort });
        if (begun === undefined) continue;
        const isAdmitted = await gate.enter(candidate);
        if (isAdmitted && !signal.aborted) {
          if (!isRepeat) {
            this.#services.budget.earn(candidate.deployment.connection.id);
          }
          return begun;
        }
        // The caller may have left while another thread or the store decided.
        if (isAdmitted) gate.withdraw();
        begun.slot.leave();
        begun.report.dismissed();
        signal.throwIfAborted();
      }
    }
    return undefined;
  }

  /**
   * Waits before the next request to the same connection. Returns `false` when the retry budget forbids the request.
   */
  async #awaitRepeat(
    { candidate: { deployment }, waitMs }: NextAttempt,
  ): Promise<boolean> {
    const { budget, deadlines } = this.#services;
    if (!budget.spend(deployment.connection.id)) return false;
    const { signal } = this.#request.exchange.control.controller;
    await wait(waitMs, { deadlines, signal });
    return true;
  }

  /** Begins an attempt if the connection is healthy and has a free slot. */
  #begin(
    next: NextAttempt,
    options: BeginOptions,
  ): AdmittedAttempt | undefined {
    const { deployment } = next.candidate;
    const report = this.#services.health.begin(deployment, options);
    if (report === undefined) return undefined;
    const slot = this.#place.occupy(deployment);
    if (slot !== undefined) return { next, report, slot };
    report.dismissed();
    return undefined;
  }
}

/**
 * The pause before a request takes a slot again that it could not use, in milliseconds. A request cannot use its slot
 * while the health of the connection refuses attempts.
 */
const PAUSE_MS = 100;

/** Delays a place. Otherwise a request that cannot use its slot would take the slot again and again. */
function afterPause(place: WaitingPlace): WaitingPlace {
  return { ...place, restMs: Math.max(place.restMs, PAUSE_MS) };
}

/** The conditions under which attempts may begin, the best first. */
const RESORTS = [
  { hasNoAlternative: false, isLastResort: false },
  { hasNoAlternative: true, isLastResort: false },
  { hasNoAlternative: true, isLastResort: true },
] as const;
