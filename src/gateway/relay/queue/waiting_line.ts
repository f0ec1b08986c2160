import type { Deployment } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import type { Clock } from "@gateway/base/time/timers";
import { type RecentUse, setNewest } from "./recent_use.ts";

/** The facts of a waiting request that decide the order of turns. */
interface Ranked {
  readonly caller: RankedCaller;
  /** `undefined` for a request that waits elsewhere. */
  readonly session: string | undefined;
  /** True for work that nobody watches, such as a subagent's or a batch's. */
  readonly isBackground: boolean;
  /** The time at which the request's first wait began, on a monotonic clock. */
  readonly sinceMs: number;
  /** The time until which background work stands back, on a monotonic clock. */
  readonly backUntilMs: number;
}

/** The waiting requests of a caller that have the same rank in the order of turns. */
export interface SentGroup {
  readonly caller: Ranked["caller"];
  readonly isBackground: boolean;
  /** The time for which the first of these requests has waited, in milliseconds. */
  readonly waitedMs: number;
  readonly count: number;
}

/** Requests that wait elsewhere. */
export interface RankedGroup extends Ranked {
  readonly count: number;
}

/** A request in the line. */
export interface Waiting extends Ranked {
  readonly session: string;
  /** The places with their deployments' keys, in the order of preference. */
  readonly places: ReadonlyMap<string, DuePlace>;
}

/** A new request that finds the line full. */
type NewRequest = Pick<Ranked, "caller" | "isBackground" | "sinceMs">;

/** The facts of a caller that decide the order of turns. */
interface RankedCaller {
  readonly digest: string;
  readonly weight: number;
}

/** A deployment that a request waits for. */
interface DuePlace {
  readonly deployment: Deployment;
  /** The time from which the deployment may have room, on a monotonic clock. */
  readonly roomMs: number;
  /** The time from which the line checks the deployment, on a monotonic clock. */
  readonly dueMs: number;
}

/** A waiting request and the place that it may take. */
export interface NextWaiter<Waiter extends Waiting> {
  readonly waiter: Waiter;
  readonly key: string;
  readonly deployment: Deployment;
}

/** The number of sessions whose last turn is remembered. */
const MAX_SESSIONS = 10_000;

/** Returns a text that names a deployment. The text is the same after a reload. */
export const keyOf = oncePer(({ connection, model }: Deployment) =>
  keyOfIds(connection.id, model.id)
);

/** Returns the text that names a deployment, from the ids of its connection and its model. */
export function keyOfIds(connectionId: string, model: string): string {
  return `${connectionId} ${model}`;
}

/**
 * The requests that wait, in the order of their turns:
 *
 * 1. Background work comes last, until it has waited for half of its longest wait.
 * 2. The caller whose recent use is the smallest comes first, however many requests the caller has.
 * 3. Of one caller's sessions, the session whose last turn is longest ago comes first.
 * 4. The request that began to wait first comes first.
 */
export class WaitingLine<Waiter extends Waiting> {
  readonly #clock: Clock;
  readonly #use: Pick<RecentUse, "of">;
  readonly #waiters = new Set<Waiter>();
  readonly #lastTurns = new Map<string, number>();
  #turns = 0;

  constructor(clock: Clock, use: Pick<RecentUse, "of">) {
    this.#clock = clock;
    this.#use = use;
  }

  get size(): number {
    return this.#waiters.size;
  }

  [Symbol.iterator](): Iterator<Waiter> {
    return this.#waiters.values();
  }

  /** Returns the requests that wait for a deployment. */
  at(key: string): readonly Waiter[] {
    return [...this.#waiters].filter(({ places }) => places.has(key));
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
  }

  /** Removes a request. Returns false when the request was not in the line. */
  remove(waiter: Waiter): boolean {
    return this.#waiters.delete(waiter);
  }

  /**
   * Returns the request that gives its place in a full line to a new request. The caller with the most requests in
   * proportion to its weight loses its newest request, background work first. New background work takes no place from
   * other work.
   *
   * @param isOwn True when only a request of the same caller may give way.
   * @returns `undefined` when the new request itself must give way.
   */
  yielding(newcomer: NewRequest, isOwn = false): Waiter | undefined {
    const { digest } = newcomer.caller;
    const counts = new Map([[digest, 1]]);
    for (const { caller } of this.#waiters) {
      counts.set(caller.digest, 1 + (counts.get(caller.digest) ?? 0));
    }
    const loadOf = ({ caller }: NewRequest) =>
      (counts.get(caller.digest) ?? 0) / caller.weight;
    const order = (one: NewRequest, other: NewRequest) =>
      loadOf(one) - loadOf(other) ||
      Number(one.isBackground) - Number(other.isBackground) ||
      one.sinceMs - other.sinceMs;
    let last: Waiter | undefined;
    for (const waiter of this.#waiters) {
      const mayYield = (waiter.isBackground || !newcomer.isBackground) &&
        (!isOwn || waiter.caller.digest === digest);
      const yields = order(waiter, last ?? newcomer);
      if (mayYield && (last ? yields >= 0 : yields > 0)) last = waiter;
    }
    return last;
  }

  /** Notes that a session has had a turn. */
  noteTurn(session: string): void {
    this.#turns += 1;
    setNewest(this.#lastTurns, session, this.#turns, MAX_SESSIONS);
  }

  /** Returns true when a request needs only a free slot of a deployment whose key `isOne` accepts. */
  isAwaited(isOne: (key: string) => boolean): boolean {
    if (this.#waiters.size === 0) return false;
    const nowMs = this.#clock.elapsedMs();
    return this.#waiters.values().some((waiter) =>
      waiter.places.keys().some((key) =>
        isOne(key) && isDue(waiter, key, nowMs)
      )
    );
  }

  /** Returns the requests that need only a free slot of a deployment, by caller. */
  turnsAt(key: string): readonly SentGroup[] {
    const nowMs = this.#clock.elapsedMs();
    const due = [...this.#waiters]
      .filter((waiter) => isDue(waiter, key, nowMs))
      .map((waiter) => ({ waiter, isBackground: standsBack(waiter, nowMs) }));
    const groups = Map.groupBy(
      due,
      ({ waiter: { caller }, isBackground }) =>
        `${caller.digest} ${isBackground}`,
    );
    return [...groups.values()].flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const sinceMs = Math.min(...group.map(({ waiter }) => waiter.sinceMs));
      return {
        caller: first.waiter.caller,
        isBackground: first.isBackground,
        waitedMs: nowMs - sinceMs,
        count: group.length,
      };
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

  /** Returns the number of requests, at a deployment and elsewhere, whose turn comes before the turn of `waiter`. */
  countBefore(
    key: string,
    waiter: Waiting,
    elsewhere: readonly RankedGroup[],
  ): number {
    const order = this.#order(this.#clock.elapsedMs());
    let count = 0;
    for (const other of this.at(key)) if (order(other, waiter) < 0) count += 1;
    for (const other of elsewhere) {
      if (order(other, waiter) < 0) count += other.count;
    }
    return count;
  }

  /** Returns true when the turn of a request elsewhere comes before the turn of `waiter`. */
  isBehind(waiter: Waiting, elsewhere: readonly RankedGroup[]): boolean {
    if (elsewhere.length === 0) return false;
    const order = this.#order(this.#clock.elapsedMs());
    return elsewhere.some((other) => order(other, waiter) < 0);
  }

  /** Returns the time until the next place is due, in milliseconds; `Infinity` when all places are due. */
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

  #order(nowMs: number): (one: Ranked, other: Ranked) => number {
    const shares = new Map<string, number>();
    const shareOf = ({ caller: { digest, weight } }: Ranked): number => {
      const known = shares.get(digest);
      if (known !== undefined) return known;
      const share = this.#use.of(digest, nowMs) / weight;
      shares.set(digest, share);
      return share;
    };
    const lastTurnOf = (session: string) => this.#lastTurns.get(session) ?? 0;
    const bySession = (one: string | undefined, other: string | undefined) =>
      one === undefined || other === undefined
        ? 0
        : lastTurnOf(one) - lastTurnOf(other);
    return (one, other) =>
      Number(standsBack(one, nowMs)) - Number(standsBack(other, nowMs)) ||
      shareOf(one) - shareOf(other) ||
      bySession(one.session, other.session) ||
      one.sinceMs - other.sinceMs;
  }
}

function isDue({ places }: Waiting, key: string, nowMs: number): boolean {
  return (places.get(key)?.dueMs ?? Infinity) <= nowMs;
}

/** Returns true for background work that has not waited for half of its longest wait yet. */
function standsBack(
  { isBackground, backUntilMs }: Ranked,
  nowMs: number,
): boolean {
  return isBackground && nowMs < backUntilMs;
}
