import type { Clock } from "../core/time/clock.ts";
import type { Sum } from "./sums.ts";

/** Where a table is: those of one name end at one time. */
type TablePlace = Pick<Sum, "table" | "endsAtMs">;

/** Tables of values by field, each until its moment. */
export interface EndingTables<Value> {
  /** Forgets the tables that have ended. There is no timer: whoever is asked for something calls this first. */
  dropEnded(): void;
  find(name: string): Map<string, Value> | undefined;
  /** `undefined` for a table that has ended. */
  open(place: TablePlace): Map<string, Value> | undefined;
  all(): Iterable<ReadonlyMap<string, Value>>;
}

/** There are no tables yet. */
export function createEndingTables<Value>(
  clock: Pick<Clock, "now">,
): EndingTables<Value> {
  const tables = new Map<string, Map<string, Value>>();
  /** By the moment when they end. */
  const namesByEnd = new Map<number, string[]>();
  let nextEndMs = Infinity;

  return {
    dropEnded() {
      const nowMs = clock.now();
      if (nowMs < nextEndMs) return;
      nextEndMs = Infinity;
      for (const [endsAtMs, names] of namesByEnd) {
        if (endsAtMs > nowMs) nextEndMs = Math.min(nextEndMs, endsAtMs);
        else {
          for (const name of names) tables.delete(name);
          namesByEnd.delete(endsAtMs);
        }
      }
    },
    find: (name) => tables.get(name),
    open({ table: name, endsAtMs }) {
      const found = tables.get(name);
      if (found !== undefined) return found;
      if (endsAtMs <= clock.now()) return undefined;
      const opened = new Map<string, Value>();
      tables.set(name, opened);
      const names = namesByEnd.get(endsAtMs) ?? [];
      names.push(name);
      namesByEnd.set(endsAtMs, names);
      nextEndMs = Math.min(nextEndMs, endsAtMs);
      return opened;
    },
    all: () => tables.values(),
  };
}
