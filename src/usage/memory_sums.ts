import type { Clock } from "../core/clock.ts";
import type { Addition, Reservation, Sum, Sums } from "./sums.ts";

/** Sums that are known at once, since nobody else keeps them. */
export interface MemorySums extends Sums {
  reserve(list: readonly Reservation[]): ReturnType<typeof firstRefused>;
  table(name: string): ReadonlyMap<string, number>;
  /** How many sums are held. */
  readonly size: number;
}

/** The sums of one table by their field. */
type Table = Map<string, number>;

/**
 * Sums in the memory of this process. There is no timer: tables that end together are dropped together, when
 * something is next asked for after that.
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
  /** Tables by name, by the moment when they end. */
  const tablesByEnd = new Map<number, Map<string, Table>>();
  let nextEndMs = Infinity;

  function dropEnded(): void {
    const nowMs = clock.now();
    if (nowMs < nextEndMs) return;
    nextEndMs = Infinity;
    for (const endsAtMs of tablesByEnd.keys()) {
      if (endsAtMs <= nowMs) tablesByEnd.delete(endsAtMs);
      else nextEndMs = Math.min(nextEndMs, endsAtMs);
    }
  }

  function find({ table, endsAtMs }: Sum): Table | undefined {
    return tablesByEnd.get(endsAtMs)?.get(table);
  }

  /** `undefined` for a table that has ended. */
  function open(sum: Sum): Table | undefined {
    const found = find(sum);
    if (found !== undefined) return found;
    const { table, endsAtMs } = sum;
    if (endsAtMs <= clock.now()) return undefined;
    const tables = tablesByEnd.get(endsAtMs) ?? new Map<string, Table>();
    tablesByEnd.set(endsAtMs, tables);
    nextEndMs = Math.min(nextEndMs, endsAtMs);
    const opened: Table = new Map();
    tables.set(table, opened);
    return opened;
  }

  const valueOf = (sum: Sum) => find(sum)?.get(sum.field) ?? 0;

  /** What belongs to one table often stands together. */
  function addAll(list: readonly Addition[]): void {
    let last: Sum | undefined;
    let table: Table | undefined;
    for (const { sum, amount } of list) {
      const isSame = last !== undefined && sum.table === last.table &&
        sum.endsAtMs === last.endsAtMs;
      if (!isSame) table = open(sum);
      last = sum;
      table?.set(sum.field, (table.get(sum.field) ?? 0) + amount);
    }
  }

  return {
    read(sums) {
      dropEnded();
      return sums.map(valueOf);
    },
    reserve(list) {
      dropEnded();
      const refused = firstRefused(list, valueOf);
      if (refused === undefined) addAll(list);
      return refused;
    },
    add(list) {
      dropEnded();
      addAll(list);
    },
    begin(list) {
      dropEnded();
      for (const { sum, amount } of list) {
        const table = open(sum);
        if (table?.has(sum.field) === false) table.set(sum.field, amount);
      }
    },
    table(name) {
      dropEnded();
      for (const tables of tablesByEnd.values()) {
        const found = tables.get(name);
        if (found !== undefined) return new Map(found);
      }
      return new Map();
    },
    get size() {
      return [...tablesByEnd.values()]
        .flatMap((tables) => [...tables.values()])
        .reduce((size, table) => size + table.size, 0);
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
