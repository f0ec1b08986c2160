import type { Deployment } from "../../config/config.ts";
import { Recent } from "../../core/collections.ts";
import { oncePer } from "../../core/memo.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { RecentUse } from "./recent_use.ts";

/** A request in the line, as far as the order of turns depends on it. */
export interface Waiting {
  readonly caller: WaitingCaller;
  readonly session: string;
  /** True for work that nobody watches, such as a subagent's or a batch's. */
  readonly isBackground: boolean;
  /** The time at which its first wait began, and at which its last one must end, on a monotonic clock. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The places with their deployments' keys, in the order of preference. */
  readonly places: ReadonlyMap<string, DuePlace>;
}

/** The caller of a request, as far as the order of turns depends on it. */
interface WaitingCaller {
  readonly sha256: string;
  readonly weight: number;
}

/** A deployment that a request waits for. */
interface DuePlace {
  readonly deployment: Deployment;
  /** The time from which it may have room, on a monotonic clock. */
  readonly dueMs: number;
}

/** A waiting request and the place that it may take. */
interface NextWaiter<Waiter extends Waiting> {
  readonly waiter: Waiter;
  readonly key: string;
  readonly deployment: Deployment;
}

/** The time for which the last turn of a session is remembered, in milliseconds. */
const SESSION_MS = 600_000;
const MAX_SESSIONS = 10_000;

/** Returns a text that names a deployment, the same after a reload. */
export const keyOf = oncePer(({ connection, model }: Deployment) =>
  `${connection.id} ${model.id}`
);

/**
 * The requests that wait, in the order of their turns:
 *
 * 1. before the work that nobody watches, until that has waited for half of its time;
 * 2. by the recent use of their callers, so that the number of a caller's requests changes nothing;
 * 3. of one caller, by the last turn of their sessions;
 * 4. by their beginning.
 */
export class WaitingLine<Waiter extends Waiting> {
  readonly #clock: Clock;
  readonly #use: Pick<RecentUse, "of">;
  readonly #waiters = new Set<Waiter>();
  readonly #byKey = new Map<string, Set<Waiter>>();
  readonly #lastTurns: Recent<number>;
  #turns = 0;

  constructor(clock: Clock, use: Pick<RecentUse, "of">) {
    this.#clock = clock;
    this.#use = use;
    const options = { ttlMs: SESSION_MS, maxSize: MAX_SESSIONS };
    this.#lastTurns = new Recent({ clock, ...options });
  }

  get size(): number {
    return this.#waiters.size;
  }

  [Symbol.iterator](): Iterator<Waiter> {
    return this.#waiters.values();
  }

  /** Returns the requests that wait for a deployment. */
  at(key: string): Iterable<Waiter> {
    return this.#byKey.get(key) ?? [];
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    for (const key of waiter.places.keys()) {
      const set = this.#byKey.get(key) ?? new Set();
      this.#byKey.set(key, set.add(waiter));
    }
  }

  remove(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter)) return;
    for (const key of waiter.places.keys()) {
      const set = this.#byKey.get(key);
      set?.delete(waiter);
      if (set?.size === 0) this.#byKey.delete(key);
    }
  }

  /** Notes that a session has had a turn. */
  noteTurn(session: string): void {
    this.#turns += 1;
    this.#lastTurns.set(session, this.#turns);
  }

  /** Returns true when a request waits for nothing but a free slot of a deployment. */
  isAwaited(key: string): boolean {
    const set = this.#byKey.get(key);
    if (set === undefined) return false;
    const nowMs = this.#clock.elapsedMs();
    return set.values().some(({ places }) => {
      const place = places.get(key);
      return place !== undefined && place.dueMs <= nowMs;
    });
  }

  /**
   * Returns the request whose turn is next, with a place that may have room.
   *
   * @param full The keys of the deployments without a free slot.
   */
  next(full: ReadonlySet<string>): NextWaiter<Waiter> | undefined {
    const nowMs = this.#clock.elapsedMs();
    const order = this.#order(nowMs);
    let best: NextWaiter<Waiter> | undefined;
    for (const waiter of this.#waiters) {
      if (best !== undefined && order(waiter, best.waiter) >= 0) continue;
      const open = waiter.places.entries()
        .find(([key, { dueMs }]) => dueMs <= nowMs && !full.has(key));
      if (open === undefined) continue;
      const [key, { deployment }] = open;
      best = { waiter, key, deployment };
    }
    return best;
  }

  /** Returns the number of requests at a deployment whose turn comes before that of `waiter`. */
  countBefore(key: string, waiter: Waiting): number {
    const order = this.#order(this.#clock.elapsedMs());
    let count = 0;
    for (const other of this.at(key)) if (order(other, waiter) < 0) count += 1;
    return count;
  }

  /** Returns the time until the next place is due, in milliseconds; `Infinity` when all are. */
  nextDueMs(): number {
    const nowMs = this.#clock.elapsedMs();
    let nextMs = Infinity;
    for (const { places } of this.#waiters) {
      for (const { dueMs } of places.values()) {
        if (dueMs > nowMs) nextMs = Math.min(nextMs, dueMs - nowMs);
      }
    }
    return nextMs;
  }

  #order(nowMs: number): (one: Waiting, other: Waiting) => number {
    const shares = new Map<string, number>();
    const shareOf = ({ caller: { sha256, weight } }: Waiting): number => {
      const known = shares.get(sha256);
      if (known !== undefined) return known;
      const share = this.#use.of(sha256) / weight;
      shares.set(sha256, share);
      return share;
    };
    const mayStandBack = ({ isBackground, sinceMs, untilMs }: Waiting) =>
      Number(isBackground && nowMs < (sinceMs + untilMs) / 2);
    const lastTurnOf = ({ session }: Waiting) =>
      this.#lastTurns.get(session) ?? 0;
    return (one, other) =>
      mayStandBack(one) - mayStandBack(other) ||
      shareOf(one) - shareOf(other) ||
      lastTurnOf(one) - lastTurnOf(other) ||
      one.sinceMs - other.sinceMs;
  }
}
