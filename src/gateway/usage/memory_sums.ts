import type { Clock } from "@gateway/base/time/timers";
import { createEndingTables } from "./tables.ts";
import { DayAmounts, isDaysTable } from "./history.ts";
import { createHolds } from "./holds.ts";
import {
  type Addition,
  type Counted,
  decide,
  type Decision,
  HOLD_MS,
  holdsOf,
  type LimitUse,
  type Sum,
  type Sums,
} from "./sums.ts";

/** Sums in this thread. Each function returns a value, never a promise. */
interface MemorySums extends Sums {
  reserve(...args: Parameters<Sums["reserve"]>): Decision;
  uses(limits: readonly Counted[]): readonly LimitUse[];
  read(sums: readonly Sum[]): readonly number[];
  table(name: string): ReadonlyMap<string, number>;
  once(name: string, endsAtMs: number): boolean;
  /**
   * Records the moment since which everything is counted, in milliseconds since 1970. A moment later than the recorded
   * moment has no effect.
   */
  completeSince(sinceMs: number): void;
  /** The number of sums and holds. */
  readonly size: number;
}

/**
 * Creates sums that are all 0. There is no timer: each call first drops the tables that have ended.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const sums = createMemorySums({ now: () => 0, elapsedMs: () => 0 });
 * const sum = { table: "minute 0 alice", field: "requests", endsAtMs: 60_000 };
 * const claim = { sums: [sum], key: "alice requests", amount: 1, most: 1 };
 * assert.equal(sums.reserve("first", [claim]).isGranted, true);
 * assert.equal(sums.reserve("second", [claim]).isGranted, false);
 * ```
 */
export function createMemorySums(clock: Clock): MemorySums {
  const tables = createEndingTables(
    clock,
    (name) => isDaysTable(name) ? new DayAmounts() : new Map<string, number>(),
  );
  const holds = createHolds(clock);
  let sinceMs = clock.now();

  function valueOf(sum: Sum): number {
    return tables.find(sum)?.get(sum.field) ?? 0;
  }

  function useOf({ sums, key }: Counted, id = ""): LimitUse {
    const use = { counted: sums.map(valueOf), held: holds.total(key, id) };
    const [first] = sums;
    return first?.isLife ? { ...use, endsAtMs: tables.endOf(first) } : use;
  }

  function addAll(additions: readonly Addition[]): void {
    for (const addition of additions) {
      const table = tables.open(addition);
      if (table === undefined) continue;
      for (const { field, amount } of addition.amounts) {
        table.set(field, (table.get(field) ?? 0) + amount);
      }
    }
  }

  return {
    apply({ additions, releases = [], holds: lasting = [] }) {
      tables.dropEnded();
      addAll(additions);
      holds.put(lasting, HOLD_MS);
      holds.remove(releases);
    },
    reserve(id, claims, lifetimeMs = Infinity) {
      tables.dropEnded();
      const decision = decide(claims, claims.map((one) => useOf(one, id)));
      if (decision.isGranted) {
        holds.put(holdsOf(id, claims), lifetimeMs);
      }
      return decision;
    },
    uses(limits) {
      tables.dropEnded();
      return limits.map((one) => useOf(one));
    },
    read(sums) {
      tables.dropEnded();
      return sums.map(valueOf);
    },
    table(name) {
      tables.dropEnded();
      return new Map(tables.find({ table: name }));
    },
    once(name, endsAtMs) {
      tables.dropEnded();
      const names = tables.open({ table: `once\t${name}`, endsAtMs });
      if (names === undefined || names.size > 0) return false;
      names.set("", 1);
      return true;
    },
    get sinceMs() {
      return sinceMs;
    },
    completeSince(atMs) {
      sinceMs = Math.min(sinceMs, atMs);
    },
    get size() {
      let size = holds.size;
      for (const table of tables.all()) size += table.size;
      return size;
    },
  };
}
