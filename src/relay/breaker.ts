import type { Clock } from "../core/clock.ts";

/** An attempt that was let through a {@linkcode Breaker}. */
export interface Pass {
  readonly startedMs: number;
  /** Whether it is to show that things are well again. */
  readonly isProbe: boolean;
  /** Whether its request has failed here before: one request is one piece of evidence. */
  readonly isRepeat: boolean;
}

/** So many requests in a row fail before the first cool-down. */
const FAILURES_TO_COOL = 3;

const MIN_COOL_MS = 1000;
const MAX_COOL_MS = 30_000;

/** A probe that has told nothing for so long holds no other up, in milliseconds. */
const PROBE_MS = 30_000;

/** What benches for longer is asked once in this time all the same, in milliseconds. */
const MAX_BENCH_MS = 3_600_000;

/**
 * Keeps requests away from what keeps failing: after some failures in a row for a second, then after each
 * probe that fails for twice as long, up to half a minute (docs/design.md#failover).
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #coolMs = 0;
  #closedUntilMs = 0;
  /** What began before tells of a time that is known already. */
  #closedAtMs = 0;
  #needsProbe = false;
  #probedAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long it stays closed, in milliseconds; 0 when a request may pass. */
  restMs(): number {
    const nowMs = this.#clock.elapsedMs();
    const probeMs = this.#needsProbe ? this.#probedAtMs + PROBE_MS - nowMs : 0;
    if (nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs;
    return probeMs > 0 ? Math.min(probeMs, MIN_COOL_MS) : 0;
  }

  /** Lets an attempt through; ask {@linkcode Breaker.restMs} before, unless its request was let through already. */
  pass(isRepeat: boolean): Pass {
    const startedMs = this.#clock.elapsedMs();
    const isProbe = this.#needsProbe && !isRepeat;
    if (isProbe) this.#probedAtMs = startedMs;
    return { startedMs, isProbe, isRepeat };
  }

  /** An answer has begun. */
  answered(pass: Pass): void {
    if (this.#isNews(pass)) this.#needsProbe = false;
  }

  /** An answer came to its end. */
  succeeded(pass: Pass): void {
    if (!this.#isNews(pass)) return;
    this.#failures = 0;
    this.#coolMs = 0;
    this.#closedUntilMs = 0;
    this.#needsProbe = false;
  }

  /** @returns For how long it is closed because of that, in milliseconds; 0 when it is not. */
  failed(pass: Pass): number {
    if (!this.#isNews(pass) || pass.isRepeat) return 0;
    if (this.#needsProbe && !pass.isProbe) return 0;
    this.#failures += 1;
    if (!pass.isProbe && this.#failures < FAILURES_TO_COOL) return 0;
    this.#coolMs = Math.min(
      Math.max(2 * this.#coolMs, MIN_COOL_MS),
      MAX_COOL_MS,
    );
    this.#needsProbe = true;
    this.#close(this.#coolMs);
    return this.#coolMs;
  }

  /** Closes it for as long as the upstream says; after that it is open at once. */
  bench(forMs: number): void {
    this.#needsProbe = false;
    this.#close(Math.min(forMs, MAX_BENCH_MS));
  }

  /** The attempt showed nothing. */
  dismissed({ isProbe }: Pass): void {
    if (isProbe) this.#probedAtMs = -Infinity;
  }

  #close(forMs: number): void {
    this.#closedAtMs = this.#clock.elapsedMs();
    this.#closedUntilMs = this.#closedAtMs + forMs;
    this.#probedAtMs = -Infinity;
  }

  #isNews({ startedMs }: Pass): boolean {
    return startedMs >= this.#closedAtMs;
  }
}
