import type { Config } from "../config/config.ts";
import {
  type CountTable,
  growTable,
  MAX_COLUMNS,
  sumOf,
} from "./count_table.ts";

/** In which column of a table something is counted. */
export interface Columns {
  /** By the SHA-256 of a caller's first token. */
  readonly callers: ReadonlyMap<string, number>;
  /** By the id of a connection. */
  readonly connections: ReadonlyMap<string, number>;
}

/** The columns that every table has. */
export const FIXED_COLUMNS = {
  /** Requests that are being served. */
  requests: 0,
  /** What bodies take of memory, in KiB. */
  memoryKib: 1,
  /** Loans of memory for work that runs. */
  loans: 2,
} as const;

/** Gives what a configuration limits a column of its own. */
export interface ColumnBook {
  /**
   * The columns for a configuration: what it shares with the one before keeps its column, and one that is needed no
   * longer is given away once it counts nothing. What finds no column is missing.
   */
  assign(config: Pick<Config, "callers" | "connections">): Columns;
}

/** No column is given away yet. */
export function createColumnBook(table: CountTable): ColumnBook {
  const free: number[] = [];
  let used = Object.keys(FIXED_COLUMNS).length;
  let latest: Columns = { callers: new Map(), connections: new Map() };
  /** Given up, but for what still counts there. */
  let left: readonly number[] = [];

  function newColumn(): number | undefined {
    return free.pop() ?? (used < MAX_COLUMNS ? used++ : undefined);
  }

  function columnsOf(
    keys: Iterable<string>,
    known: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, number> {
    const columns = new Map<string, number>();
    for (const key of keys) {
      const column = columns.get(key) ?? known.get(key) ?? newColumn();
      if (column !== undefined) columns.set(key, column);
    }
    return columns;
  }

  return {
    assign({ callers, connections }) {
      left = left.filter((column) => {
        if (sumOf(table, column) > 0) return true;
        free.push(column);
        return false;
      });
      const before = latest;
      latest = {
        callers: columnsOf(
          [...callers.values()].map(({ sha256 }) => sha256),
          before.callers,
        ),
        connections: columnsOf(
          connections.map(({ id }) => id),
          before.connections,
        ),
      };
      left = [
        ...left,
        ...givenUp(before.callers, latest.callers),
        ...givenUp(before.connections, latest.connections),
      ];
      growTable(table, used);
      return latest;
    },
  };
}

function givenUp(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): readonly number[] {
  return [...before].flatMap(([key, column]) => now.has(key) ? [] : [column]);
}
