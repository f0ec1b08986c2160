import type { Clock } from "../../core/time/clock.ts";
import { createEndingTables } from "../../usage/ending_tables.ts";
import type { Sum } from "../../usage/sums.ts";

/** What is known here of one sum. */
export interface Entry {
  readonly sum: Sum;
  /** What the ledger said last. */
  known: number;
  /** What was added here and the ledger has not confirmed; it may have it already. */
  unconfirmed: number;
  /** Of that, what has not been sent. */
  unsent: number;
  /** What was reserved and the ledger has not decided. */
  held: number;
  /** Whether anybody has added to it, be it 0, as far as is known here. */
  exists: boolean;
  /** Whether something is to be sent, be it 0. */
  isToAdd: boolean;
  /** What to begin it with, if nobody has. */
  beginWith: number | undefined;
  /** What was added here and the ledger has confirmed. */
  own: number;
  /** Whether the ledger is to restore it, since it lost what it had. */
  isToRestore: boolean;
  /** Whether to ask what it is. */
  isToRead: boolean;
  /** When the ledger said so, in milliseconds of the clock; `undefined`: never. */
  readAtMs: number | undefined;
}

/** The entries of all sums that have not ended. */
export interface Entries {
  /** `undefined` for a sum that has ended. */
  open(sum: Sum): Entry | undefined;
  find(sum: Sum): Entry | undefined;
  /** Those of a table by their field. */
  table(name: string): ReadonlyMap<string, Entry>;
  all(): Iterable<Entry>;
}

/** What a sum is as far as is known here. */
export function valueOf({ known, unconfirmed, held }: Entry): number {
  return known + unconfirmed + held;
}

const NO_ENTRIES: ReadonlyMap<string, Entry> = new Map();

/** There are none yet. Those that have ended are dropped when something is next asked for. */
export function createEntries(clock: Pick<Clock, "now">): Entries {
  const tables = createEndingTables<Entry>(clock);

  function find(sum: Sum): Entry | undefined {
    tables.dropEnded();
    return tables.find(sum.table)?.get(sum.field);
  }

  function open(sum: Sum): Entry | undefined {
    const found = find(sum);
    if (found !== undefined) return found;
    const entry = newEntry(sum);
    const table = tables.open(sum);
    table?.set(sum.field, entry);
    return table && entry;
  }

  function* all(): Iterable<Entry> {
    tables.dropEnded();
    for (const entries of tables.all()) yield* entries.values();
  }

  return {
    open,
    find,
    all,
    table(name) {
      tables.dropEnded();
      return tables.find(name) ?? NO_ENTRIES;
    },
  };
}

function newEntry(sum: Sum): Entry {
  return {
    sum,
    known: 0,
    unconfirmed: 0,
    unsent: 0,
    held: 0,
    exists: false,
    isToAdd: false,
    beginWith: undefined,
    own: 0,
    isToRestore: false,
    isToRead: false,
    readAtMs: undefined,
  };
}
