import type { MemoryOfOthers } from "../relay/request/body_memory.ts";
import {
  createRunningCountsByKey,
  once,
  type RunningCounts,
  type RunningCountsByKey,
} from "../relay/request/running_counts.ts";
import { type Columns, FIXED_COLUMNS } from "./columns.ts";
import {
  addWithin,
  type CountTable,
  removeOne,
  sumWithout,
} from "./count_table.ts";

/** What one thread needs to count with the others. */
export interface ThreadShare {
  readonly table: CountTable;
  /** Which of its cells are this thread's, from 0. */
  readonly thread: number;
  readonly columns: Columns;
}

/** A thread's view of what all threads of the process count together. */
export interface ThreadCounts {
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
