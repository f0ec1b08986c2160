import type { Caller } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { amountOf, type Bounds, countsRow, isBound } from "./bounds.ts";
import { type Counts, type Measure, MEASURES, tokensOf } from "./counts.ts";
import { createRelayed } from "./relayed.ts";
import type { Addition, Sums } from "./sums.ts";
import {
  COUNTED_WINDOWS,
  countsField,
  countsTable,
  type Holder,
  placedAt,
  type PlacedWindow,
  type Row,
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
  const names = createNames();
  const relayed = createRelayed();
  return {
    count(use, givenBack = []) {
      const { caller, connection, atMs, counts } = use;
      const holders = holdersOf(caller);
      const additions = [...givenBack];
      addCounts(use, { additions, holders, names });
      const tokens = tokensOf(counts);
      relayed.add({ connection, holders, tokens, atMs }, additions);
      if (isBound(caller)) addToLimits(use, { additions, bounds });
      sums.add(additions);
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

/** One table after another, so that each is looked up once. */
function addCounts(
  { atMs, counts, ...row }: Use,
  { additions, holders, names }: {
    readonly additions: Addition[];
    readonly holders: readonly Holder[];
    readonly names: Names;
  },
): void {
  const fields = names.fields(row);
  for (const holder of holders) {
    for (const { table, window } of names.tables(atMs, holder)) {
      for (const measure of MEASURES) {
        const amount = counts[measure];
        // A cost of nothing is known, and no cost is not.
        const isNone = amount === undefined ||
          amount === 0 && measure !== "cost";
        if (isNone) continue;
        additions.push({ sum: sumIn(table, fields[measure], window), amount });
      }
    }
  }
}

function addToLimits(
  { caller, counts, atMs, ...row }: Use,
  { additions, bounds }: {
    readonly additions: Addition[];
    readonly bounds: Bounds;
  },
): void {
  for (const bound of bounds.of(caller)) {
    if (bound.kind === "share" || !countsRow(bound.limit, row)) continue;
    const { sum } = bounds.sumAt(bound, atMs);
    const amount = amountOf(bound.limit.unit, counts);
    if (amount !== 0) additions.push({ sum, amount });
  }
}

/** A table of counts, and its window. */
interface CountsTable {
  readonly table: string;
  readonly window: PlacedWindow;
}

/** Names that are made once: fields for as long as the program runs, tables for an hour. */
interface Names {
  fields(row: Row): Readonly<Record<Measure, string>>;
  tables(atMs: number, holder: Holder): readonly CountsTable[];
}

function createNames(): Names {
  let windows: readonly PlacedWindow[] = [];
  let known = new Map<string, readonly CountsTable[]>();
  /** By connection, then by model; both are names of configurations. */
  const fields = new Map<
    string,
    Map<string, Readonly<Record<Measure, string>>>
  >();
  return {
    fields(row) {
      const found = fields.get(row.connection)?.get(row.model);
      if (found !== undefined) return found;
      const byModel = fields.get(row.connection) ?? new Map();
      const made = fieldsOf(row);
      fields.set(row.connection, byModel.set(row.model, made));
      return made;
    },
    tables(atMs, holder) {
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

function fieldsOf(row: Row): Readonly<Record<Measure, string>> {
  const field = (measure: Measure) => countsField(measure, row);
  return {
    requests: field("requests"),
    input: field("input"),
    cached_input: field("cached_input"),
    cache_write: field("cache_write"),
    output: field("output"),
    reasoning: field("reasoning"),
    cost: field("cost"),
    estimated: field("estimated"),
  };
}
