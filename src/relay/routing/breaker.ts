import type { Clock } from "../../core/time/timers.ts";
import type { LastingCause } from "./cool_down.ts";

/** An attempt that was let through a {@linkcode Breaker}. */
export interface BreakerAttempt {
  /** How often the breaker had closed before: what is older tells of a time that is known already. */
  readonly closings: number;
  /** Whether it is to show that things are well again. */
  readonly isProbe: boolean;
  /** Whether its request has failed here before: one request is one piece of evidence. */
  readonly isRepeat: boolean;
}

/** An attempt of what no {@linkcode Breaker} has kept away yet. */
export function firstAttempt(isRepeat: boolean): BreakerAttempt {
  return { closings: 0, isProbe: false, isRepeat };
}

/** So many requests in a row fail before the first cool-down. */
const FAILURES_TO_COOL = 3;

const MIN_COOL_MS = 1000;
const MAX_COOL_MS = 15_000;

/** While no probe has been answered, twice as many may be out each time this many milliseconds have passed. */
const PROBES_DOUBLE_MS = 250;

/** So long after the first probe everybody is let through, in milliseconds: an answer may take its time. */
const OPEN_MS = 2000;

/** What benches for longer is asked once in this time all the same, in milliseconds. */
const MAX_BENCH_MS = 3_600_000;

/**
 * Keeps requests away from what keeps failing: after some failures in a row for a second, then after each
 * probe that fails for twice as long, up to a quarter of a minute (docs/design.md#failover). It opens with one
 * probe, and gradually to all while that is neither answered nor failed.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #coolMs = 0;
  #closings = 0;
  #closedUntilMs = 0;
  #needsProbe = false;
  /** When the first probe since the last closing began. */
  #probingSinceMs: number | undefined;
  /** How many probes have neither been answered nor dismissed. */
  #probes = 0;
  #cause: LastingCause | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a probe is out that has shown nothing yet. */
  get isProbing(): boolean {
    return this.#needsProbe && this.#probes > 0;
  }

  /** Whether it has ever kept anybody away. */
  get hasClosed(): boolean {
    return this.#closings > 0;
  }

  /** Why it closed last, where only an administrator can mend that. */
  get cause(): LastingCause | undefined {
    return this.#cause;
  }

  /** How long it stays closed, in milliseconds; 0 when a request may pass. */
  restMs(): number {
    // Most never close, and need not know what time it is.
    if (!this.hasClosed) return 0;
    const nowMs = this.#clock.elapsedMs();
    if (nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs;
    return this.isProbing ? this.#nextProbeMs(nowMs) : 0;
  }

  /** Lets an attempt through; ask {@linkcode Breaker.restMs} before, unless its request was let through already. */
  admit(isRepeat: boolean): BreakerAttempt {
    const isProbe = this.#needsProbe && !isRepeat;
    if (isProbe) {
      this.#probingSinceMs ??= this.#clock.elapsedMs();
      this.#probes += 1;
    }
    return { closings: this.#closings, isProbe, isRepeat };
  }

  /** Whether an attempt tells something new: it began after the last closing. */
  isNews({ closings }: BreakerAttempt): boolean {
    return closings === this.#closings;
  }

  /**
   * An answer has begun.
   *
   * @returns Whether that opened it.
   */
  answered(attempt: BreakerAttempt): boolean {
    if (!this.isNews(attempt) || !this.#needsProbe) return false;
    this.#needsProbe = false;
    return true;
  }

  /** An answer came to its end. */
  succeeded(attempt: BreakerAttempt): void {
    if (!this.isNews(attempt)) return;
    this.#failures = 0;
    this.#coolMs = 0;
    this.#needsProbe = false;
  }

  /**
   * Notes that an attempt failed.
   *
   * @param cause Why, where only an administrator can mend that.
   * @returns For how long it is closed because of that, in milliseconds; 0 when it is not.
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
    this.#close(this.#coolMs, cause);
    return this.#coolMs;
  }

  /** A failure that may be due to who asked: it counts, and closes nothing. */
  noteFailed(attempt: BreakerAttempt): void {
    if (this.#counts(attempt)) this.#failures += 1;
    this.dismissed(attempt);
  }

  /** Takes over what another knows: the next failure closes this one for as long as it would close that one. */
  learnFrom(other: Breaker): void {
    this.#failures = Math.max(this.#failures, other.#failures);
    this.#coolMs = Math.max(this.#coolMs, other.#coolMs);
  }

  /**
   * Closes it for as long as the upstream says; after that it is open at once.
   *
   * @returns For how long it is closed because of that, in milliseconds.
   */
  bench(forMs: number): number {
    const benchedMs = Math.min(forMs, MAX_BENCH_MS);
    this.#needsProbe = false;
    this.#close(benchedMs);
    return benchedMs;
  }

  /**
   * The breaker of another gateway is closed for so long yet, in milliseconds. This one follows it, unless it stays
   * closed for longer anyway.
   */
  follow(
    forMs: number,
    { requestedByProvider, cause }: {
      readonly requestedByProvider: boolean;
      readonly cause?: LastingCause | undefined;
    },
  ): void {
    if (this.#clock.elapsedMs() + forMs <= this.#closedUntilMs) return;
    if (requestedByProvider) return void this.bench(forMs);
    const coolMs = Math.min(forMs, MAX_COOL_MS);
    this.#coolMs = Math.max(this.#coolMs, coolMs);
    this.#needsProbe = true;
    this.#close(coolMs, cause);
  }

  /** The attempt showed nothing. */
  dismissed(attempt: BreakerAttempt): void {
    if (attempt.isProbe && this.isNews(attempt)) this.#probes -= 1;
  }

  #close(forMs: number, cause?: LastingCause): void {
    this.#cause = cause;
    this.#closings += 1;
    this.#closedUntilMs = this.#clock.elapsedMs() + forMs;
    this.#probingSinceMs = undefined;
    this.#probes = 0;
  }

  #counts(attempt: BreakerAttempt): boolean {
    const isKnown = this.#needsProbe && !attempt.isProbe;
    return this.isNews(attempt) && !attempt.isRepeat && !isKnown;
  }

  /** How long until one more probe may go out, in milliseconds. */
  #nextProbeMs(nowMs: number): number {
    const doublings = Math.floor(Math.log2(this.#probes)) + 1;
    const waitMs = Math.min(doublings * PROBES_DOUBLE_MS, OPEN_MS);
    return Math.max(0, (this.#probingSinceMs ?? nowMs) + waitMs - nowMs);
  }
}
