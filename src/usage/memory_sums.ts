import type { Clock } from "../core/time/clock.ts";
import { createEndingTables } from "./ending_tables.ts";
import type { Addition, Reservation, Sum, Sums } from "./sums.ts";

/** Sums that are known at once, since nobody else keeps them. */
export interface MemorySums extends Sums {
  reserve(list: readonly Reservation[]): ReturnType<typeof firstRefused>;
  table(name: string): ReadonlyMap<string, number>;
  /** How many sums are held. */
  readonly size: number;
}

/**
 * Sums in the memory of this process. There is no timer: tables that have ended are dropped when something is next
 * asked for.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const sums = createMemorySums({ now: () => 0 });
 * const sum = { table: "minute 0 alice", field: "requests", endsAtMs: 60_000 };
 * assert.equal(sums.reserve([{ sum, amount: 1, most: 1 }]), undefined);
 * assert.equal(sums.reserve([{ sum, amount: 1, most: 1 }])?.used, 1);
 * ```
 */
export function createMemorySums(clock: Pick<Clock, "now">): MemorySums {
  const tables = createEndingTables<number>(clock);

  const valueOf = (sum: Sum) => tables.find(sum.table)?.get(sum.field) ?? 0;

  /** What belongs to one table often stands together. */
  function addAll(list: readonly Addition[]): void {
    let name: string | undefined;
    let table: Map<string, number> | undefined;
    for (const { sum, amount } of list) {
      if (sum.table !== name) table = tables.open(sum);
      name = sum.table;
      table?.set(sum.field, (table.get(sum.field) ?? 0) + amount);
    }
  }

  return {
    read(sums) {
      tables.dropEnded();
      return sums.map(valueOf);
    },
    reserve(list) {
      tables.dropEnded();
      const refused = firstRefused(list, valueOf);
      if (refused === undefined) addAll(list);
      return refused;
    },
    add(list) {
      tables.dropEnded();
      addAll(list);
    },
    begin(list) {
      tables.dropEnded();
      for (const { sum, amount } of list) {
        const table = tables.open(sum);
        if (table?.has(sum.field) === false) table.set(sum.field, amount);
      }
    },
    table(name) {
      tables.dropEnded();
      return new Map(tables.find(name));
    },
    get size() {
      return [...tables.all()].reduce((size, table) => size + table.size, 0);
    },
  };
}

/** The first reservation that its sum has no room for. */
function firstRefused(
  list: readonly Reservation[],
  valueOf: (sum: Sum) => number,
): { readonly reservation: Reservation; readonly used: number } | undefined {
  for (const reservation of list) {
    const used = valueOf(reservation.sum);
    if (used + reservation.amount > reservation.most) {
      return { reservation, used };
    }
  }
  return undefined;
}
