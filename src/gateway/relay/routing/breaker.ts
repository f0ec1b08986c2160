import type { Clock } from "@gateway/base/time/timers";
import { type CoolDown, type LastingCause, LONG_MS } from "./cool_down.ts";

/** An attempt that a {@linkcode Breaker} admitted. */
export interface BreakerAttempt {
  /** The number of cool-downs before the attempt. Once another cool-down has begun, the attempt's result is ignored. */
  readonly coolDowns: number;
  /** True when the attempt tests the recovery. */
  readonly isProbe: boolean;
  /** True when the attempt tests whether the wait that the provider asked for is over. */
  readonly isLimitProbe: boolean;
  /** True when the same request has failed here before. The failures of one request count once. */
  readonly isRepeat: boolean;
}

/** Creates an attempt for a subject that has no {@linkcode Breaker} yet. */
export function firstAttempt(isRepeat: boolean): BreakerAttempt {
  return { coolDowns: 0, isProbe: false, isLimitProbe: false, isRepeat };
}

/** The number of successive failures before the first cool-down. */
const FAILURES_TO_COOL = 3;

const MIN_COOL_MS = 1000;
const MAX_COOL_MS = 15_000;

/** The interval at which the number of probes may double while no probe has a response, in milliseconds. */
const PROBES_DOUBLE_MS = 250;

/** The time from the first probe until all requests are admitted, in milliseconds, because a response may be slow. */
const ADMIT_ALL_MS = 2000;

/** The longest cool-down that a provider may ask for, in milliseconds. */
const MAX_REQUESTED_MS = 3_600_000;

/** The interval between two probes of a provider's long wait, in milliseconds. */
const LIMIT_PROBE_MS = 300_000;

/**
 * Stops requests to a failing connection or model (docs/design.md#failover). The first cool-down, after some successive
 * failures, takes a second. Each failed probe doubles the cool-down, up to 15 seconds. After a cool-down one probe is
 * admitted. While the first probe has no result, gradually more probes follow.
 *
 * A long wait that the provider asks for may end early: by a probe every five minutes, or by a reading of the quota.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #coolMs = 0;
  #coolDowns = 0;
  #coolUntilMs = 0;
  /**
   * The end of the wait that the provider asked for. If the cool-down was shortened to its maximum, it ends earlier.
   */
  #requestedUntilMs = 0;
  /** The time of the next probe of the provider's wait; `undefined` when the provider has not asked for a long wait. */
  #limitProbeAtMs: number | undefined;
  /** The start of the last cool-down, in milliseconds since 1970. */
  #coolSinceMs = 0;
  /**
   * The time until which quota readings end no cool-down, because the last one that ended a cool-down may have been
   * wrong.
   */
  #distrustUntilMs = 0;
  /** The time until which a reading with a used-up quota is ignored. */
  #paidUntilMs = 0;
  #needsProbe = false;
  /** The start of the first probe since the last cool-down. */
  #probingSinceMs: number | undefined;
  /** The number of probes without a result. */
  #probes = 0;
  #cause: LastingCause | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True while a probe runs without a result. */
  get isProbing(): boolean {
    return this.#needsProbe && this.#probes > 0;
  }

  /** True after the first cool-down. */
  get hasCooledDown(): boolean {
    return this.#coolDowns > 0;
  }

  /** True during a long wait that the provider asked for. */
  get isWaiting(): boolean {
    return this.#limitProbeAtMs !== undefined && this.restMs() > 0;
  }

  /** True during a wait that the provider asked for, however short. */
  get isRequestedWait(): boolean {
    return this.#requestedUntilMs > 0 && this.restMs() > 0;
  }

  /** The cause of the last cool-down, if only an administrator can fix it. */
  get cause(): LastingCause | undefined {
    return this.#cause;
  }

  /** Returns the rest of the cool-down, in milliseconds; 0 when a request may pass. */
  restMs(): number {
    // Most breakers never cool down, so most calls need not read the clock.
    if (!this.hasCooledDown) return 0;
    const nowMs = this.#clock.elapsedMs();
    if (nowMs < this.#coolUntilMs) return this.#coolUntilMs - nowMs;
    return this.isProbing ? this.#nextProbeMs(nowMs) : 0;
  }

  /**
   * Returns the wait that a rejected caller may read, in milliseconds. During a cool-down that the provider asked for,
   * the wait lasts until the time that the provider named. Otherwise the wait is {@linkcode Breaker.restMs}.
   */
  waitMs(): number {
    const restMs = this.restMs();
    return this.#requestedUntilMs > this.#coolUntilMs && restMs > 0
      ? this.#requestedUntilMs - this.#clock.elapsedMs()
      : restMs;
  }

  /** Returns the time until the next request may pass, either after the cool-down or as a probe, in milliseconds. */
  nextTryMs(): number {
    const restMs = this.restMs();
    if (restMs === 0 || this.#limitProbeAtMs === undefined) return restMs;
    const probeMs = this.#limitProbeAtMs - this.#clock.elapsedMs();
    return Math.min(restMs, Math.max(0, probeMs));
  }

  /** Admits an attempt. Check {@linkcode Breaker.restMs} before, unless the same request was admitted already. */
  admit(isRepeat: boolean): BreakerAttempt {
    const isProbe = this.#needsProbe && !isRepeat;
    const isLimitProbe = !isRepeat && this.restMs() > 0 &&
      this.nextTryMs() === 0;
    if (isLimitProbe) this.postponeProbe();
    if (isProbe) {
      this.#probingSinceMs ??= this.#clock.elapsedMs();
      this.#probes += 1;
    }
    return { coolDowns: this.#coolDowns, isProbe, isLimitProbe, isRepeat };
  }

  /** Returns true for an attempt that began after the last cool-down. */
  isCurrent({ coolDowns }: BreakerAttempt): boolean {
    return coolDowns === this.#coolDowns;
  }

  /**
   * Records the beginning of a response.
   *
   * @returns True when the response ended the probing.
   */
  answered(attempt: BreakerAttempt): boolean {
    if (attempt.isLimitProbe) {
      const paidUntilMs = this.#requestedUntilMs;
      const hasEnded = this.isCurrent(attempt) && this.endWait();
      if (hasEnded) this.#paidUntilMs = paidUntilMs;
      return hasEnded;
    }
    if (!this.isCurrent(attempt) || !this.#needsProbe) return false;
    this.#needsProbe = false;
    return true;
  }

  /** Records the end of a complete answer. */
  succeeded(attempt: BreakerAttempt): void {
    if (!this.isCurrent(attempt)) return;
    this.#failures = 0;
    this.#coolMs = 0;
    this.#needsProbe = false;
    this.#distrustUntilMs = 0;
  }

  /**
   * Records a failure.
   *
   * @param cause The cause, if only an administrator can fix it.
   * @returns The length of the cool-down that the failure starts, in milliseconds; 0 if it starts no cool-down.
   */
  failed(attempt: BreakerAttempt, cause?: LastingCause): number {
    if (!this.#counts(attempt)) return 0;
    this.#failures += 1;
    if (!attempt.isProbe && this.#failures < FAILURES_TO_COOL) return 0;
    this.#coolMs = Math.min(
      Math.max(2 * this.#coolMs, MIN_COOL_MS),
      MAX_COOL_MS,
    );
    this.#needsProbe = true;
    this.#coolDown(this.#coolMs, cause);
    return this.#coolMs;
  }

  /** Counts a failure that the caller may have caused, without a cool-down. */
  noteFailed(attempt: BreakerAttempt): void {
    if (this.#counts(attempt)) this.#failures += 1;
    this.dismissed(attempt);
  }

  /** Copies the failures of another breaker, so that the next failure starts as long a cool-down here as there. */
  learnFrom(other: Breaker): void {
    this.#failures = Math.max(this.#failures, other.#failures);
    this.#coolMs = Math.max(this.#coolMs, other.#coolMs);
  }

  /**
   * Cools down for the time that the upstream asks for, an hour at most. No probe follows.
   *
   * @returns The length of the cool-down, in milliseconds.
   */
  coolFor(requestedMs: number): number {
    const coolMs = Math.min(requestedMs, MAX_REQUESTED_MS);
    this.#coolAsRequested(coolMs, requestedMs);
    return coolMs;
  }

  /** Applies the rest of another gateway's cool-down, in milliseconds, unless this breaker cools down for longer. */
  follow(
    forMs: number,
    { requestedMs, cause }: Pick<CoolDown, "requestedMs" | "cause">,
  ): void {
    if (this.#clock.elapsedMs() + forMs <= this.#coolUntilMs) return;
    if (requestedMs !== undefined) {
      return this.#coolAsRequested(
        Math.min(forMs, MAX_REQUESTED_MS),
        requestedMs,
      );
    }
    const coolMs = Math.min(forMs, MAX_COOL_MS);
    this.#coolMs = Math.max(this.#coolMs, coolMs);
    this.#needsProbe = true;
    this.#coolDown(coolMs, cause);
  }

  /** Records the end of an attempt without a result. The next request may then probe a provider's wait instead. */
  dismissed(attempt: BreakerAttempt): void {
    if (!this.isCurrent(attempt)) return;
    if (attempt.isProbe) this.#probes -= 1;
    if (attempt.isLimitProbe && this.#limitProbeAtMs !== undefined) {
      this.#limitProbeAtMs = this.#clock.elapsedMs();
    }
  }

  /** Postpones the next probe of the provider's wait, because a probe has begun. */
  postponeProbe(): void {
    if (this.#limitProbeAtMs === undefined) return;
    this.#limitProbeAtMs = this.#clock.elapsedMs() + LIMIT_PROBE_MS;
  }

  /**
   * Ends a long wait that the provider asked for.
   *
   * @returns False when there is no such wait.
   */
  endWait(): boolean {
    if (!this.isWaiting) return false;
    this.#limitProbeAtMs = undefined;
    this.#requestedUntilMs = 0;
    this.#coolUntilMs = 0;
    return true;
  }

  /**
   * Ends a long wait after a reading that shows room in the quota. If the provider refuses again, only a probe ends the
   * wait for the next five minutes, because the reading does not show the quota that is used up.
   *
   * @param readAtMs The time of the reading, in milliseconds since 1970.
   * @returns True when a wait has ended.
   */
  noteRoom(readAtMs: number): boolean {
    const nowMs = this.#clock.elapsedMs();
    const isTrusted = readAtMs > this.#coolSinceMs &&
      nowMs >= this.#distrustUntilMs;
    if (!isTrusted || !this.endWait()) return false;
    this.#distrustUntilMs = nowMs + LIMIT_PROBE_MS;
    return true;
  }

  /**
   * Begins a long wait, unless a long wait lasts already. After an answered probe, no long wait begins until the
   * quota's window ends, because the answer shows that the provider takes payment in another way.
   */
  noteUsedUp(waitMs: number): void {
    if (this.isWaiting || this.#clock.elapsedMs() < this.#paidUntilMs) return;
    this.coolFor(waitMs);
  }

  #coolAsRequested(forMs: number, requestedMs: number): void {
    this.#needsProbe = false;
    this.#coolDown(forMs);
    this.#requestedUntilMs = this.#clock.elapsedMs() + requestedMs;
    if (requestedMs < LONG_MS) return;
    this.#limitProbeAtMs = 0;
    this.postponeProbe();
  }

  #coolDown(forMs: number, cause?: LastingCause): void {
    this.#cause = cause;
    this.#coolDowns += 1;
    this.#coolUntilMs = this.#clock.elapsedMs() + forMs;
    this.#requestedUntilMs = 0;
    this.#limitProbeAtMs = undefined;
    this.#coolSinceMs = this.#clock.now();
    this.#probingSinceMs = undefined;
    this.#probes = 0;
  }

  #counts(attempt: BreakerAttempt): boolean {
    const isKnown = this.#needsProbe && !attempt.isProbe;
    return this.isCurrent(attempt) && !attempt.isRepeat &&
      !attempt.isLimitProbe && !isKnown;
  }

  /** Returns the time until the next probe may start, in milliseconds. */
  #nextProbeMs(nowMs: number): number {
    const doublings = Math.floor(Math.log2(this.#probes)) + 1;
    const waitMs = Math.min(doublings * PROBES_DOUBLE_MS, ADMIT_ALL_MS);
    return Math.max(0, (this.#probingSinceMs ?? nowMs) + waitMs - nowMs);
  }
}
