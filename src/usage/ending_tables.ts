import type { Clock } from "../core/clock.ts";
import type { Sum } from "./sums.ts";

/** Where a table is: those of one name end at one time. */
type TablePlace = Pick<Sum, "table" | "endsAtMs">;

/** Tables of values by field, each until its moment. */
export interface EndingTables<Value> {
  /**
   * Forgets the tables that have ended, together. There is no timer: whoever is asked for something calls this first.
   */
  dropEnded(): void;
  find(place: TablePlace): Map<string, Value> | undefined;
  /** `undefined` for a table that has ended. */
  open(place: TablePlace): Map<string, Value> | undefined;
  named(name: string): ReadonlyMap<string, Value> | undefined;
  all(): Iterable<ReadonlyMap<string, Value>>;
}

/** There are no tables yet. */
export function createEndingTables<Value>(
  clock: Pick<Clock, "now">,
): EndingTables<Value> {
  /** By their name, by the moment when they end. */
  const tablesByEnd = new Map<number, Map<string, Map<string, Value>>>();
  let nextEndMs = Infinity;

  function find({ table, endsAtMs }: TablePlace) {
    return tablesByEnd.get(endsAtMs)?.get(table);
  }

  return {
    dropEnded() {
      const nowMs = clock.now();
      if (nowMs < nextEndMs) return;
      nextEndMs = Infinity;
      for (const endsAtMs of tablesByEnd.keys()) {
        if (endsAtMs <= nowMs) tablesByEnd.delete(endsAtMs);
        else nextEndMs = Math.min(nextEndMs, endsAtMs);
      }
    },
    find,
    open(place) {
      const found = find(place);
      if (found !== undefined) return found;
      const { table, endsAtMs } = place;
      if (endsAtMs <= clock.now()) return undefined;
      const opened = new Map<string, Value>();
      const tables = tablesByEnd.get(endsAtMs) ??
        new Map<string, Map<string, Value>>();
      tablesByEnd.set(endsAtMs, tables.set(table, opened));
      nextEndMs = Math.min(nextEndMs, endsAtMs);
      return opened;
    },
    named(name) {
      for (const tables of tablesByEnd.values()) {
        const found = tables.get(name);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    *all() {
      for (const tables of tablesByEnd.values()) yield* tables.values();
    },
  };
}
