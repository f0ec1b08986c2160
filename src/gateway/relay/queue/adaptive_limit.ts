import type { Clock } from "@gateway/base/time/timers";

/** The part of the limit that remains after a refusal. */
const DECREASE = 0.8;

/** Refusals within this time, in milliseconds, count as one refusal. */
const CROWD_MS = 1_000;

/** The time without a refusal after which the limit rises, in milliseconds. */
const RAISE_MS = 10_000;

/** The share by which the limit rises. It rises by at least one request. */
const INCREASE = 0.05;

/** The time without a refusal after which there is no limit, in milliseconds. */
const CALM_MS = 600_000;

/** The weight of the newest request in the average. */
const NEWEST_SHARE = 0.2;

/**
 * Learns from refusals how many requests a provider serves at the same time for a model. A 429 lowers the limit by a
 * fifth, or to the number of requests that still run, if that is lower. Without refusals, the limit rises slowly
 * (additive increase, multiplicative decrease). Before the first 429 there is no limit.
 */
export class AdaptiveLimit {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #most = Infinity;
  #running = 0;
  #refusedMs = -Infinity;
  #raisedMs = -Infinity;
  #averageMs: number | undefined;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** The number of requests that may run at the same time; `Infinity` for no limit. */
  get most(): number {
    return Math.floor(this.#most);
  }

  /** The average time of a complete answer, in milliseconds; `undefined` before the first complete answer. */
  get averageMs(): number | undefined {
    return this.#averageMs;
  }

  /** True when one more request may run. */
  get hasRoom(): boolean {
    return this.#running < this.most;
  }

  /** Counts a request until {@linkcode AdaptiveLimit.end}. */
  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
  }

  /** Lowers the limit, because the provider has refused a request that still counts as running. */
  refused(): void {
    const nowMs = this.#clock.elapsedMs();
    const isSameCrowd = nowMs - this.#refusedMs < CROWD_MS;
    this.#refusedMs = nowMs;
    this.#raisedMs = nowMs;
    const lowered = isSameCrowd ? this.#most : DECREASE * this.#most;
    this.#most = Math.max(1, Math.min(lowered, this.#running - 1));
  }

  /**
   * Records a complete answer of the provider. Raises the limit if its last change is long enough ago.
   *
   * @param tookMs The time that the request took, in milliseconds.
   */
  completed(tookMs: number): void {
    this.#averageMs = this.#averageMs === undefined
      ? tookMs
      : this.#averageMs + NEWEST_SHARE * (tookMs - this.#averageMs);
    if (this.#most === Infinity) return;
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - this.#refusedMs > CALM_MS) this.#most = Infinity;
    if (nowMs - this.#raisedMs < RAISE_MS) return;
    this.#raisedMs = nowMs;
    this.#most += Math.max(1, INCREASE * this.#most);
  }
}
