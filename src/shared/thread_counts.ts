import type { Config } from "../config/config.ts";
import {
  createRunningCountsByKey,
  once,
  type RunningCounts,
  type RunningCountsByKey,
} from "../relay/request/admission.ts";
import type { MemoryOfOthers } from "../relay/request/body_memory.ts";

/** What one thread needs to count with the others. */
export interface ThreadShare {
  readonly table: CountTable;
  /** Which of its cells are this thread's, from 0. */
  readonly thread: number;
  readonly columns: Columns;
}

/** A thread's view of what all threads of the process count together. */
interface ThreadCounts {
  readonly running: RunningCounts;
  readonly memory: MemoryOfOthers;
  /** Goes by the columns of another configuration; what runs is given back where it was counted. */
  adopt(columns: Columns): void;
}

const BYTES_PER_KIB = 1024;

/** Counts what this thread takes where the other threads see it, without asking anybody. */
export function createThreadCounts(
  { table, thread, columns: first }: ThreadShare,
): ThreadCounts {
  let columns = first;

  function byKey(
    columnsNow: () => ReadonlyMap<string, number>,
  ): RunningCountsByKey {
    // What has no column, such as the connection of a configuration that is replaced, is counted here alone.
    const own = createRunningCountsByKey();
    return {
      take(key, most) {
        const column = columnsNow().get(key);
        if (column === undefined) return own.take(key, most);
        const cell = { thread, column };
        return addWithin(table, cell, most ?? Infinity)
          ? once(() => removeOne(table, cell))
          : undefined;
      },
    };
  }

  const requests = { thread, column: FIXED_COLUMNS.requests };
  return {
    running: {
      requests: {
        add: (most) => addWithin(table, requests, most),
        remove: () => removeOne(table, requests),
      },
      callers: byKey(() => columns.callers),
      connections: byKey(() => columns.connections),
    },
    memory: memoryOfOthers(table, thread),
    adopt: (next) => void (columns = next),
  };
}

function memoryOfOthers(table: CountTable, thread: number): MemoryOfOthers {
  const cellOf = (column: number) => column * table.threads + thread;
  const memoryCell = cellOf(FIXED_COLUMNS.memoryKib);
  const loansCell = cellOf(FIXED_COLUMNS.loans);
  return {
    usedBytes: () =>
      BYTES_PER_KIB * sumWithout(table, FIXED_COLUMNS.memoryKib, thread),
    running: () => sumWithout(table, FIXED_COLUMNS.loans, thread),
    publish(usedBytes, running) {
      const usedKib = Math.ceil(usedBytes / BYTES_PER_KIB);
      Atomics.store(table.cells, memoryCell, usedKib);
      Atomics.store(table.cells, loansCell, running);
    },
  };
}

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
interface ColumnBook {
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

/**
 * Counts that the threads of a process keep together, in memory that they share: a column for what is counted, and
 * in it a cell for each thread. A thread changes its own cells alone, and the sum of a column is what all count, so
 * that what a thread held is given back by emptying its cells.
 */
export interface CountTable {
  /** Column after column; grows as columns are added. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  /** How many cells a column has. */
  readonly threads: number;
}

/** As many columns there may be; what is beyond takes no memory until it is used. */
const MAX_COLUMNS = 2 ** 20;

const FIRST_COLUMNS = 64;

/** How often a count is tried that others withdraw from at the same moment. */
const MAX_TRIES = 8;

/** Creates a table in which everything is 0. */
export function createCountTable(threads: number): CountTable {
  const columnBytes = threads * Int32Array.BYTES_PER_ELEMENT;
  const buffer = new SharedArrayBuffer(FIRST_COLUMNS * columnBytes, {
    maxByteLength: MAX_COLUMNS * columnBytes,
  });
  return { cells: new Int32Array(buffer), threads };
}

/** Makes room for so many columns. */
export function growTable(
  { cells: { buffer }, threads }: CountTable,
  columns: number,
): void {
  const neededBytes = columns * threads * Int32Array.BYTES_PER_ELEMENT;
  if (neededBytes <= buffer.byteLength) return;
  buffer.grow(Math.min(2 * neededBytes, buffer.maxByteLength));
}

/** Gives back what a thread held that is gone. */
export function emptyThread(
  { cells, threads }: CountTable,
  thread: number,
): void {
  for (let cell = thread; cell < cells.length; cell += threads) {
    Atomics.store(cells, cell, 0);
  }
}

/** The sum of a column. */
export function sumOf(table: CountTable, column: number): number {
  return sumWithout(table, column, -1);
}

/**
 * The sum of a column without the cell of one thread. A thread that ended may have given something back after its
 * cells were emptied: less than nothing counts as nothing.
 */
export function sumWithout(
  { cells, threads }: CountTable,
  column: number,
  without: number,
): number {
  const first = column * threads;
  let sum = 0;
  for (let thread = 0; thread < threads; thread++) {
    if (thread === without) continue;
    sum += Math.max(0, Atomics.load(cells, first + thread));
  }
  return sum;
}

/** Whose cell of a table, and in which column. */
interface Cell {
  readonly thread: number;
  readonly column: number;
}

/**
 * Counts one more in a thread's cell, unless the column's sum would pass `most`. Every thread counts first and looks
 * then, so that two never take the last place both. Two who withdraw because of each other try again.
 *
 * @returns Whether it is counted.
 */
export function addWithin(
  table: CountTable,
  { thread, column }: Cell,
  most: number,
): boolean {
  const cell = column * table.threads + thread;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (sumOf(table, column) >= most) return false;
    Atomics.add(table.cells, cell, 1);
    if (sumOf(table, column) <= most) return true;
    Atomics.sub(table.cells, cell, 1);
  }
  return false;
}

/** Counts one less in a thread's cell. */
export function removeOne(
  { cells, threads }: CountTable,
  { thread, column }: Cell,
): void {
  Atomics.sub(cells, column * threads + thread, 1);
}
