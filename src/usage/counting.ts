import type { Caller } from "../config/config.ts";
import type { LimitUnit } from "../config/usage_limits.ts";
import { CALENDAR_WINDOWS } from "../core/time/calendar.ts";
import { type Counts, type Measure, tokensOf } from "./counts.ts";
import { createRelayed } from "./relayed.ts";
import type { Addition, FieldAmount, Hold, Sums } from "./sums.ts";
import {
  countsField,
  countsTable,
  type Holder,
  holderDigest,
  placedAt,
  type PlacedWindow,
  type Row,
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
   * Counts a request in all windows that it ended in. Windows that are over are left alone, so that old requests may
   * be counted, too.
   *
   * @param holds What the request held of limits, which ends at the same time.
   */
  count(use: Use, holds?: readonly Hold[]): void;
}

/** Counts from now on. */
export function createCounting(sums: Pick<Sums, "apply">): Counting {
  const names = createNames();
  const relayed = createRelayed();
  return {
    count(use, holds) {
      const { caller, connection, atMs, counts } = use;
      const additions: Addition[] = [];
      const holders = names.holders(caller, atMs);
      const amounts = amountsIn(counts, names.fields(use));
      for (const { tables } of holders) {
        for (const { table, endsAtMs } of tables) {
          additions.push({ table, endsAtMs, amounts });
        }
      }
      const tokens = tokensOf(counts);
      relayed.add({ connection, holders, tokens, atMs }, additions);
      sums.apply(
        holds === undefined ? { additions } : { additions, releases: holds },
      );
    },
  };
}

const TOTALS: Readonly<Record<LimitUnit, LimitUnit>> = {
  requests: "requests",
  tokens: "tokens",
  cost: "cost",
};

/** Measure by measure, since to look each up by its word would take as long as all else here. */
function amountsIn(
  counts: Counts,
  fields: Readonly<Record<Measure, string>>,
): readonly FieldAmount[] {
  const amounts: FieldAmount[] = [];
  const put = (field: string, amount = 0) => {
    if (amount !== 0) amounts.push({ field, amount });
  };
  put(fields.requests, counts.requests);
  put(fields.input, counts.input);
  put(fields.cached_input, counts.cached_input);
  put(fields.cache_write, counts.cache_write);
  put(fields.output, counts.output);
  put(fields.reasoning, counts.reasoning);
  put(fields.estimated, counts.estimated);
  const { cost } = counts;
  // A cost of 0 is known, and an absent one is not.
  if (cost !== undefined) amounts.push({ field: fields.cost, amount: cost });
  put(TOTALS.requests, counts.requests);
  put(TOTALS.tokens, tokensOf(counts));
  put(TOTALS.cost, cost);
  return amounts;
}

/** The names of the sums of one holder. */
interface HolderNames {
  readonly digest: string;
  /** The tables of its counts, one a window. */
  readonly tables: readonly CountsTable[];
}

/** A table of counts, and when its window ends, in milliseconds since 1970. */
interface CountsTable {
  readonly table: string;
  readonly endsAtMs: number;
}

/**
 * Remembers names, since to make them takes longer than to count: the fields for as long as the program runs, the
 * tables for as long as the shortest window.
 */
function createNames() {
  /** By connection, then by model; both are names of configurations. */
  const fields = new Map<
    string,
    Map<string, Readonly<Record<Measure, string>>>
  >();
  const known = {
    token: new Map<string, HolderNames>(),
    group: new Map<string, HolderNames>(),
  };
  let windows: readonly PlacedWindow[] = [];

  function moveTo(atMs: number): void {
    const [shortest] = windows;
    const isSame = shortest !== undefined && atMs >= shortest.startMs &&
      atMs < shortest.endMs;
    if (isSame) return;
    windows = CALENDAR_WINDOWS.map((window) => placedAt(window, atMs));
    known.token.clear();
    known.group.clear();
  }

  function namesOf(kind: Holder["kind"], name: string): HolderNames {
    const found = known[kind].get(name);
    if (found !== undefined) return found;
    const holder = { kind, name };
    const tables = windows.map((window) => ({
      table: countsTable(window, holder),
      endsAtMs: window.endMs,
    }));
    const made = { digest: holderDigest(holder), tables };
    known[kind].set(name, made);
    return made;
  }

  return {
    /** The fields of a row in each table. */
    fields(row: Row): Readonly<Record<Measure, string>> {
      const byModel = fields.get(row.connection) ?? new Map();
      const found = byModel.get(row.model);
      if (found !== undefined) return found;
      const made = fieldsOf(row);
      fields.set(row.connection, byModel.set(row.model, made));
      return made;
    },
    /** The token and, where it has one, its group, with their tables at a moment. */
    holders(
      { name, group }: Caller,
      atMs: number,
    ): readonly HolderNames[] {
      moveTo(atMs);
      const own = namesOf("token", name);
      return group === undefined ? [own] : [own, namesOf("group", group.name)];
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
