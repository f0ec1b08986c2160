import type { Caller } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { amountOf, type Bounds, countsRow } from "./bounds.ts";
import { type Counts, MEASURES, tokensOf } from "./counts.ts";
import { relayedAdditions } from "./relayed.ts";
import type { Addition, Sums } from "./sums.ts";
import {
  COUNTED_WINDOWS,
  countsField,
  countsTable,
  type Holder,
  placedAt,
  type PlacedWindow,
  sumIn,
} from "./tables.ts";

/** What one request used. */
export interface Use {
  /** As the configuration in use has it. */
  readonly caller: Caller;
  /** The name of the connection that had it last. */
  readonly connection: string;
  /** The model that it was served by, as callers know it. */
  readonly model: string;
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number;
  readonly counts: Counts;
}

/** Counts what every token uses. */
export interface Counting {
  /**
   * Counts a request in all windows that it ended in, and in the limits of its token. Windows that are over are left
   * alone, so that old requests may be counted too.
   *
   * @param givenBack What was reserved for the request, which goes at the same time.
   */
  count(use: Use, givenBack?: readonly Addition[]): void;
  /** From when on everything is counted, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Told by whoever counted what was used before; a later moment than the one known changes nothing. */
  completeSince(sinceMs: number): void;
}

/** What {@linkcode createCounting} needs. */
export interface CountingOptions {
  readonly sums: Pick<Sums, "add">;
  readonly bounds: Bounds;
  readonly clock: Pick<Clock, "now">;
}

/** Counts from now on. */
export function createCounting(
  { sums, bounds, clock }: CountingOptions,
): Counting {
  let sinceMs = clock.now();
  const tables = createTables();
  return {
    count(use, givenBack = []) {
      const { caller, connection, atMs, counts } = use;
      const holders = holdersOf(caller);
      sums.add([
        ...givenBack,
        ...countAdditions(use, holders, tables),
        ...relayedAdditions({
          connection,
          holders,
          tokens: tokensOf(counts),
          atMs,
        }),
        ...boundAdditions(use, bounds),
      ]);
    },
    get sinceMs() {
      return sinceMs;
    },
    completeSince(atMs) {
      sinceMs = Math.min(sinceMs, atMs);
    },
  };
}

/** The token, and its group where it has one. */
export function holdersOf({ name, group }: Caller): readonly Holder[] {
  const own: Holder = { kind: "token", name };
  return group === undefined
    ? [own]
    : [own, { kind: "group", name: group.name }];
}

function countAdditions(
  { atMs, counts, ...row }: Use,
  holders: readonly Holder[],
  tables: Tables,
): readonly Addition[] {
  const additions: Addition[] = [];
  for (const measure of MEASURES) {
    const amount = counts[measure];
    // A cost of nothing is known, and no cost is not.
    if (amount === undefined || amount === 0 && measure !== "cost") continue;
    const field = countsField(measure, row);
    for (const holder of holders) {
      for (const { table, window } of tables.at(atMs, holder)) {
        additions.push({ sum: sumIn(table, field, window), amount });
      }
    }
  }
  return additions;
}

function boundAdditions(
  { caller, counts, atMs, ...row }: Use,
  bounds: Bounds,
): readonly Addition[] {
  const additions: Addition[] = [];
  for (const bound of bounds.of(caller)) {
    if (bound.kind === "share" || !countsRow(bound.limit, row)) continue;
    const { sum } = bounds.sumAt(bound, atMs);
    const amount = amountOf(bound.limit.unit, counts);
    if (amount !== 0) additions.push({ sum, amount });
  }
  return additions;
}

/** A table of counts, and its window. */
interface CountsTable {
  readonly table: string;
  readonly window: PlacedWindow;
}

/** Names of tables, which are made once an hour. */
interface Tables {
  at(atMs: number, holder: Holder): readonly CountsTable[];
}

function createTables(): Tables {
  let windows: readonly PlacedWindow[] = [];
  let known = new Map<string, readonly CountsTable[]>();
  return {
    at(atMs, holder) {
      const [hour] = windows;
      if (
        hour === undefined || atMs < hour.startMs || atMs >= hour.endMs
      ) {
        windows = COUNTED_WINDOWS.map((window) => placedAt(window, atMs));
        known = new Map();
      }
      const key = holder.kind + holder.name;
      const found = known.get(key) ??
        windows.map((window) => ({
          table: countsTable(window, holder),
          window,
        }));
      known.set(key, found);
      return found;
    },
  };
}
