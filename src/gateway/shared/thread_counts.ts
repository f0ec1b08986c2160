import { memoized } from "@gateway/base/memo";
import { sha256Hex } from "@gateway/base/sha256";
import {
  createRunningCountsByKey,
  once,
  type RunningCounts,
  type RunningCountsByKey,
} from "../relay/request/admission.ts";
import type { MemoryOfOthers } from "../relay/request/body_memory.ts";

/** The data that a thread needs to count together with the other threads. */
export interface ThreadShare {
  readonly table: CountTable;
  /** The index of this thread, from 0. The index selects the cells of this thread. */
  readonly thread: number;
}

/** A thread's view of the counts of all threads of the process. */
interface ThreadCounts {
  readonly running: RunningCounts;
  readonly memory: MemoryOfOthers;
}

const BYTES_PER_KIB = 1024;

/** The number of keys whose columns a thread remembers. */
const MAX_KNOWN_COLUMNS = 50_000;

/** Creates counts in memory that the other threads can read, so that no thread waits for another. */
export function createThreadCounts(
  { table, thread }: ThreadShare,
): ThreadCounts {
  function byKey(kind: string): RunningCountsByKey {
    const columnOfKey = memoized(
      (key) => columnOf(table, `${kind} ${key}`),
      MAX_KNOWN_COLUMNS,
    );
    // Counts the keys for which no column is left. These counts are of this thread alone.
    const own = createRunningCountsByKey();
    return {
      take(key, most) {
        const column = columnOfKey(key);
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
      callers: byKey("caller"),
      connections: byKey("connection"),
    },
    memory: memoryOfOthers(table, thread),
  };
}

function memoryOfOthers(table: CountTable, thread: number): MemoryOfOthers {
  const cellOf = (column: number) => column * table.threads + thread;
  const memoryCell = cellOf(FIXED_COLUMNS.memoryKib);
  const loansCell = cellOf(FIXED_COLUMNS.loans);
  return {
    threads: table.threads,
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

/** The columns that every table has. */
const FIXED_COLUMNS = {
  /** The number of requests in progress. */
  requests: 0,
  /** The memory of bodies, in KiB. */
  memoryKib: 1,
  /** The number of loans of memory for running work. */
  loans: 2,
} as const;

const FIRST_KEYED_COLUMN = Object.keys(FIXED_COLUMNS).length;

/**
 * Counts of the threads of a process in shared memory. Each column counts one thing and has a cell for each thread. A
 * thread changes only its own cells, and the sum of a column is the total. When a thread ends, its cells are emptied.
 */
interface CountTable {
  /** The cells, column after column. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  /** The number of cells in a column. */
  readonly threads: number;
  /**
   * The keys of the columns after the fixed ones: 64 bits of a digest, or 0 for a free column. The first thread that
   * sees a key claims a column for the key. All threads then find this column until the process ends.
   */
  readonly keys: BigInt64Array<SharedArrayBuffer>;
}

/**
 * The number of columns with keys. It is enough for several times the people of most companies. Unused columns take no
 * memory.
 */
const MAX_KEYS = 2 ** 18;

/**
 * The number of columns that are tried for a key. While less than half of all columns are in use, one of the tried
 * columns is free.
 */
const MAX_PROBES = 64;

/** Creates a table in which everything is 0. */
export function createCountTable(
  threads: number,
  maxKeys: number = MAX_KEYS,
): CountTable {
  const cells = (FIRST_KEYED_COLUMN + maxKeys) * threads;
  return {
    cells: new Int32Array(
      new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT),
    ),
    threads,
    keys: new BigInt64Array(
      new SharedArrayBuffer(maxKeys * BigInt64Array.BYTES_PER_ELEMENT),
    ),
  };
}

/** Returns the column of a key, and claims a column for a new key. Returns `undefined` when no column is left. */
export function columnOf(
  { keys }: CountTable,
  key: string,
): number | undefined {
  const bits = BigInt.asIntN(64, BigInt(`0x${sha256Hex(key).slice(0, 16)}`));
  const wanted = bits === FREE ? 1n : bits;
  const first = Number(BigInt.asUintN(32, wanted));
  for (let probe = 0; probe < MAX_PROBES; probe++) {
    const place = (first + probe) % keys.length;
    const found = Atomics.compareExchange(keys, place, FREE, wanted);
    if (found === FREE || found === wanted) return FIRST_KEYED_COLUMN + place;
  }
  return undefined;
}

const FREE = 0n;

/** Empties the cells of a thread that has ended. */
export function emptyThread(
  { cells, threads }: CountTable,
  thread: number,
): void {
  for (let cell = thread; cell < cells.length; cell += threads) {
    // A write would take memory for a cell that was never used.
    if (Atomics.load(cells, cell) !== 0) Atomics.store(cells, cell, 0);
  }
}

/**
 * The largest number of attempts to increment a cell. An attempt fails when several threads increment and withdraw at
 * the same moment.
 */
const MAX_TRIES = 8;

/** Returns the sum of a column. */
export function sumOf(table: CountTable, column: number): number {
  return sumWithout(table, column, -1);
}

/**
 * Returns the sum of a column without the cell of one thread. A negative cell counts as 0: a thread that ended may have
 * decremented the cell after it was emptied.
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

/** A cell of a table. */
interface Cell {
  readonly thread: number;
  readonly column: number;
}

/**
 * Increments a thread's cell, unless the column's sum would exceed `most`. Each thread increments first and checks the
 * sum afterwards, so that two threads never both take the last place. If both threads withdraw, both try again.
 *
 * @returns True when the cell was incremented.
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

/** Decrements a thread's cell. */
export function removeOne(
  { cells, threads }: CountTable,
  { thread, column }: Cell,
): void {
  Atomics.sub(cells, column * threads + thread, 1);
}
