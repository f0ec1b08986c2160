import type { Config } from "../config/config.ts";
import {
  createRunningCountsByKey,
  once,
  type RunningCounts,
  type RunningCountsByKey,
} from "../relay/request/admission.ts";
import type { MemoryOfOthers } from "../relay/request/body_memory.ts";
import { type CallerSlots, createCallerSlots, slotOf } from "./caller_slots.ts";

/** The data with which a thread counts together with the others. */
export interface ThreadShare {
  readonly table: CountTable;
  /** The index of this thread, which selects its cells, from 0. */
  readonly thread: number;
  readonly columns: Columns;
}

/** A thread's view of the counts of all threads of the process. */
interface ThreadCounts {
  readonly running: RunningCounts;
  readonly memory: MemoryOfOthers;
  /**
   * Uses the columns of another configuration. Running requests are still removed from the columns that counted them.
   */
  adopt(columns: Columns): void;
}

const BYTES_PER_KIB = 1024;

/** Creates counts in memory that the other threads can read, so that no thread waits for another. */
export function createThreadCounts(
  { table, thread, columns: first }: ThreadShare,
): ThreadCounts {
  let columns = first;

  /** @param slotIn Finds the column of a key that the configuration does not have, in a table of such keys. */
  function byKey(
    columnsNow: () => ReadonlyMap<string, number>,
    slotIn: (key: string) => number | undefined = () => undefined,
  ): RunningCountsByKey {
    // Counts keys without a column in this thread alone, such as a connection of an earlier configuration.
    const own = createRunningCountsByKey();
    return {
      take(key, most) {
        const listed = columnsNow().get(key);
        const column = listed ?? slotIn(key);
        if (column === undefined) return own.take(key, most);
        const counts = listed === undefined ? table.unlisted : table;
        const cell = { thread, column };
        return addWithin(counts, cell, most ?? Infinity)
          ? once(() => removeOne(counts, cell))
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
      callers: byKey(
        () => columns.callers,
        (sha256) => slotOf(table.unlisted.slots, sha256),
      ),
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

/** The columns of a table. */
export interface Columns {
  /** The columns of callers, by the SHA-256 of their first token. */
  readonly callers: ReadonlyMap<string, number>;
  /** The columns of connections, by id. */
  readonly connections: ReadonlyMap<string, number>;
}

/** The columns that every table has. */
export const FIXED_COLUMNS = {
  /** The number of requests in progress. */
  requests: 0,
  /** The memory of bodies, in KiB. */
  memoryKib: 1,
  /** The number of loans of memory for running work. */
  loans: 2,
} as const;

/** Assigns columns to the callers and connections of configurations. */
interface ColumnBook {
  /**
   * Returns the columns of a configuration. Keys that the previous configuration had keep their columns. A column that
   * is no longer needed is reused once its count is 0. Keys for which no column is left are absent.
   */
  assign(config: Pick<Config, "callers" | "connections">): Columns;
}

/** Creates a book without assigned columns. */
export function createColumnBook(table: CountTable): ColumnBook {
  const free: number[] = [];
  let used = Object.keys(FIXED_COLUMNS).length;
  let latest: Columns = { callers: new Map(), connections: new Map() };
  /** Columns that are no longer needed but still count something. */
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
        ...removedColumns(before.callers, latest.callers),
        ...removedColumns(before.connections, latest.connections),
      ];
      growTable(table, used);
      return latest;
    },
  };
}

function removedColumns(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): readonly number[] {
  return [...before].flatMap(([key, column]) => now.has(key) ? [] : [column]);
}

/**
 * Counts of the threads of a process in shared memory. Each column counts one thing and has a cell for each thread. A
 * thread changes only its own cells, and the sum of a column is the total. To undo the counts of a thread, its cells
 * are emptied.
 */
export interface CountTable extends Cells {
  /** The callers of identity providers, whose columns are their slots. */
  readonly unlisted: Cells & { readonly slots: CallerSlots };
}

interface Cells {
  /** The cells, column after column; grows as columns are added. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  /** The number of cells in a column. */
  readonly threads: number;
}

/** The largest number of columns; unused ones take no memory. */
const MAX_COLUMNS = 2 ** 20;

const FIRST_COLUMNS = 64;

/** The number of attempts to count, each of which fails when others withdraw at the same moment. */
const MAX_TRIES = 8;

/** Creates a table in which everything is 0. */
export function createCountTable(threads: number): CountTable {
  const columnBytes = threads * Int32Array.BYTES_PER_ELEMENT;
  const buffer = new SharedArrayBuffer(FIRST_COLUMNS * columnBytes, {
    maxByteLength: MAX_COLUMNS * columnBytes,
  });
  const slots = createCallerSlots();
  const slotCells = new SharedArrayBuffer(slots.length * columnBytes);
  return {
    cells: new Int32Array(buffer),
    threads,
    unlisted: { cells: new Int32Array(slotCells), threads, slots },
  };
}

/** Grows a table to a number of columns. */
export function growTable(
  { cells: { buffer }, threads }: Cells,
  columns: number,
): void {
  const neededBytes = columns * threads * Int32Array.BYTES_PER_ELEMENT;
  if (neededBytes <= buffer.byteLength) return;
  buffer.grow(Math.min(2 * neededBytes, buffer.maxByteLength));
}

/** Empties the cells of a thread that has ended. */
export function emptyThread(table: CountTable, thread: number): void {
  for (const { cells, threads } of [table, table.unlisted]) {
    for (let cell = thread; cell < cells.length; cell += threads) {
      Atomics.store(cells, cell, 0);
    }
  }
}

/** Returns the sum of a column. */
export function sumOf(table: Cells, column: number): number {
  return sumWithout(table, column, -1);
}

/**
 * Returns the sum of a column without the cell of one thread. A thread that ended may have decremented a cell after it
 * was emptied, so negative cells count as 0.
 */
export function sumWithout(
  { cells, threads }: Cells,
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

/** A cell of a table. */
interface Cell {
  readonly thread: number;
  readonly column: number;
}

/**
 * Increments a thread's cell, unless the column's sum would exceed `most`. Each thread increments first and checks
 * then, so that two threads never both take the last place. Two threads that withdraw because of each other try again.
 *
 * @returns True when it was counted.
 */
export function addWithin(
  table: Cells,
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

/** Decrements a thread's cell. */
export function removeOne(
  { cells, threads }: Cells,
  { thread, column }: Cell,
): void {
  Atomics.sub(cells, column * threads + thread, 1);
}
