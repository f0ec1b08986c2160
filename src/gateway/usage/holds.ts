import type { Clock } from "@gateway/base/time/timers";
import type { Hold } from "./sums.ts";

/** The holds of running requests. */
interface Holds {
  /** Adds or renews holds. The holds expire after `lifetimeMs` milliseconds. */
  put(holds: readonly Hold[], lifetimeMs: number): void;
  remove(holds: readonly Hold[]): void;
  has(hold: Hold): boolean;
  /** Returns the total of a limit's holds, except those of the request `id`. */
  total(key: string, id: string): number;
  all(): Iterable<Hold>;
  readonly size: number;
}

/** The holds of one request. A list is enough, because a request has few limits. */
interface RequestHolds {
  readonly holds: readonly Hold[];
  readonly endsMs: number;
}

/** The interval between two searches for expired holds, in milliseconds. */
const SWEEP_MS = 10_000;

/** Creates an empty collection of holds. */
export function createHolds(clock: Pick<Clock, "elapsedMs">): Holds {
  const byId = new Map<string, RequestHolds>();
  const totals = new Map<string, number>();
  let sweepAtMs = Infinity;

  function find({ key, id }: Omit<Hold, "amount">): Hold | undefined {
    return byId.get(id)?.holds.find((one) => one.key === key);
  }

  function add(key: string, amount: number): void {
    const total = (totals.get(key) ?? 0) + amount;
    if (total === 0) totals.delete(key);
    else totals.set(key, total);
  }

  function removeOf(id: string, holds: readonly Hold[]): void {
    const known = byId.get(id);
    if (known === undefined) return;
    let left = 0;
    for (const hold of known.holds) {
      if (isAmong(holds, hold)) add(hold.key, -hold.amount);
      else left += 1;
    }
    if (left === 0) return void byId.delete(id);
    byId.set(id, {
      ...known,
      holds: known.holds.filter((hold) => !isAmong(holds, hold)),
    });
  }

  /** Removes expired holds. There is no timer: each read calls this first. */
  function sweep(): void {
    if (sweepAtMs === Infinity) return;
    const nowMs = clock.elapsedMs();
    if (nowMs < sweepAtMs) return;
    sweepAtMs = Infinity;
    for (const [id, { holds, endsMs }] of byId) {
      if (endsMs > nowMs) {
        if (endsMs < Infinity) sweepAtMs = nowMs + SWEEP_MS;
        continue;
      }
      for (const { key, amount } of holds) add(key, -amount);
      byId.delete(id);
    }
  }

  return {
    put(holds, lifetimeMs) {
      if (holds.length === 0) return;
      const isLasting = lifetimeMs === Infinity;
      const endsMs = isLasting ? Infinity : clock.elapsedMs() + lifetimeMs;
      for (const [id, own] of byRequest(holds)) {
        removeOf(id, own);
        const others = byId.get(id)?.holds;
        const all = others === undefined ? own : [...others, ...own];
        byId.set(id, { holds: all, endsMs });
        for (const { key, amount } of own) add(key, amount);
      }
      if (!isLasting && sweepAtMs === Infinity) sweepAtMs = endsMs;
    },
    remove(holds) {
      for (const [id, own] of byRequest(holds)) removeOf(id, own);
    },
    has: (hold) => find(hold) !== undefined,
    total(key, id) {
      sweep();
      const total = totals.get(key) ?? 0;
      return total === 0 ? 0 : total - (find({ key, id })?.amount ?? 0);
    },
    *all() {
      sweep();
      for (const { holds } of byId.values()) yield* holds;
    },
    get size() {
      let size = 0;
      for (const { holds } of byId.values()) size += holds.length;
      return size;
    },
  };
}

/** Groups holds by request. Most lists need no grouping, because all of their holds belong to one request. */
function byRequest(
  holds: readonly Hold[],
): Iterable<readonly [id: string, holds: readonly Hold[]]> {
  const [first] = holds;
  if (first === undefined) return [];
  return holds.every(({ id }) => id === first.id)
    ? [[first.id, holds]]
    : Map.groupBy(holds, ({ id }) => id);
}

/** Returns true when a list contains a hold on the limit of another hold. */
function isAmong(holds: readonly Hold[], { key }: Hold): boolean {
  return holds.some((one) => one.key === key);
}
