import type { Caller } from "../config/config.ts";
import type { Measure } from "./counts.ts";
import {
  COUNTED_WINDOWS,
  countsField,
  countsTable,
  type Holder,
  holderText,
  placedAt,
  type PlacedWindow,
  type Row,
} from "./tables.ts";

/** How the sums of requests are called; a request finds all names made, but for the first of its kind in an hour. */
export interface CountNames {
  /** The fields of a row in each table. */
  fields(row: Row): Readonly<Record<Measure, string>>;
  /** The token and, where it has one, its group, with their tables at a moment. */
  holders(caller: Caller, atMs: number): readonly HolderNames[];
}

/** How the sums of one holder are called. */
export interface HolderNames {
  /** The holder in one text. */
  readonly text: string;
  /** The tables of its counts, one a window. */
  readonly tables: readonly CountsTable[];
}

/** A table of counts, and when its window ends, in milliseconds since 1970. */
export interface CountsTable {
  readonly table: string;
  readonly endsAtMs: number;
}

/** Remembers fields for as long as the program runs, and tables for an hour. */
export function createCountNames(): CountNames {
  /** By connection, then by model; both are names of configurations. */
  const fields = new Map<
    string,
    Map<string, Readonly<Record<Measure, string>>>
  >();
  let windows: readonly PlacedWindow[] = [];
  const known = {
    token: new Map<string, HolderNames>(),
    group: new Map<string, HolderNames>(),
  };

  function moveTo(atMs: number): void {
    const [hour] = windows;
    if (hour !== undefined && atMs >= hour.startMs && atMs < hour.endMs) return;
    windows = COUNTED_WINDOWS.map((window) => placedAt(window, atMs));
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
    const made = { text: holderText(holder), tables };
    known[kind].set(name, made);
    return made;
  }

  return {
    fields(row) {
      const byModel = fields.get(row.connection) ?? new Map();
      const found = byModel.get(row.model);
      if (found !== undefined) return found;
      const made = fieldsOf(row);
      fields.set(row.connection, byModel.set(row.model, made));
      return made;
    },
    holders({ name, group }, atMs) {
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
