import type { Ids } from "../core/ids.ts";
import type { Clock } from "../core/time/timers.ts";
import type { Deadlines } from "../core/time/deadlines.ts";
import { isDaysTable } from "../usage/history.ts";
import { createEndingTables } from "../usage/tables.ts";
import type { Addition, Counted, Hold, Sum } from "../usage/sums.ts";
import type { Batch, Ledger } from "./ledger.ts";

/** The local knowledge of a sum. */
export interface Counter {
  readonly sum: Sum;
  /** The last value that the ledger returned. */
  base: number;
  /** The part of `added` that the ledger had confirmed at that time. */
  baseConfirmed: number;
  /** The time of that reading, in milliseconds on a monotonic clock. */
  readAtMs: number;
  /** True when any process is known to have added to the sum, even 0. */
  exists: boolean;
  /** The total that this process added. */
  added: number;
  /** The part of `added` that the ledger has confirmed. */
  confirmed: number;
  /** The part of `added` that has not been sent. */
  unsent: number;
}

/** The changes of this process. They are gathered and sent to the ledger in batches, until it confirms them. */
interface Outbox {
  /** Returns the counter of a sum; `undefined` when the sum has ended. */
  open(sum: Sum): Counter | undefined;
  find(sum: Sum): Counter | undefined;
  /** Returns the counters of a table by field. */
  table(name: string): ReadonlyMap<string, Counter>;
  /** Returns true when the ledger has not confirmed all additions to a counter. */
  isPending(counter: Counter): boolean;
  /**
   * Drops the confirmed counter of a day. Those of five weeks would take more memory here than in the ledger, and no
   * limit reads them.
   */
  forget(counter: Counter): void;
  add(addition: Addition): void;
  /** Begins, renews or releases a hold. */
  change(hold: Hold, isReleased: boolean): void;
  /** Sends all changes, or only those of some limits while the rest is gathered. */
  send(limits?: readonly Counted[]): void;
  /** Sends all changes soon. */
  sendLater(): void;
  /** True when the ledger has confirmed everything. */
  readonly isSettled: boolean;
  close(): void;
}

/** The dependencies of an {@linkcode Outbox}. */
export interface OutboxOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly ids: Ids;
  /** The time for which changes are gathered, in milliseconds. */
  readonly gatherMs: number;
}

/** The size from which a batch takes no further table; a long batch would delay other clients of a store. */
const MAX_BATCH = 500;

/**
 * The number of changes of holds that wait while the ledger is away. The oldest are dropped first, because holds expire
 * by themselves.
 */
const MAX_WAITING_HOLDS = 10_000;

const NO_COUNTERS: ReadonlyMap<string, Counter> = new Map();

/** A hold that begins, is renewed or ends. */
interface HoldChange {
  readonly hold: Hold;
  readonly isReleased: boolean;
}

/** A batch and its additions to counters. */
interface SentBatch {
  readonly batch: Batch;
  readonly shares: readonly CounterShare[];
}

interface CounterShare {
  readonly counter: Counter;
  readonly amount: number;
}

/** Creates an outbox without changes. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { ledger, clock, deadlines, ids, gatherMs } = options;
  const counters = createEndingTables(clock, () => new Map<string, Counter>());
  /**
   * Changed counters by table. All additions of a request to one table go in one batch, so that a lost batch loses all
   * of them or none.
   */
  const changed = new Map<string, Set<Counter>>();
  const changedHolds = new Map<string, HoldChange>();
  const unconfirmed = new Set<SentBatch>();
  const failed: SentBatch[] = [];
  let isClosed = false;
  let cancelGathering: (() => void) | undefined;

  function open(sum: Sum): Counter | undefined {
    counters.dropEnded();
    const table = counters.open(sum);
    const found = table?.get(sum.field);
    if (table === undefined || found !== undefined) return found;
    const counter = {
      ...{ sum, base: 0, baseConfirmed: 0, readAtMs: -Infinity },
      ...{ exists: false, added: 0, confirmed: 0, unsent: 0 },
    };
    table.set(sum.field, counter);
    return counter;
  }

  function find({ table, field }: Sum): Counter | undefined {
    counters.dropEnded();
    return counters.find(table)?.get(field);
  }

  function sendLater(): void {
    if (isClosed) return;
    cancelGathering ??= deadlines.start(gatherMs, () => {
      cancelGathering = undefined;
      send();
    });
  }

  function send(limits?: readonly Counted[]): void {
    if (ledger.isAway) return;
    for (const sent of failed.splice(0)) post(sent);
    let sent = takeBatch(limits);
    while (sent !== undefined) {
      unconfirmed.add(sent);
      post(sent);
      sent = takeBatch(limits);
    }
  }

  function takeBatch(
    limits: readonly Counted[] | undefined,
  ): SentBatch | undefined {
    const tables = takeTables(limits);
    const changes = takeHolds(limits);
    if (tables.length === 0 && changes.length === 0) return undefined;
    const additions = tables.map((shares) => ({
      table: shares[0]?.counter.sum.table ?? "",
      endsAtMs: shares[0]?.counter.sum.endsAtMs ?? 0,
      isUnlisted: shares[0]?.counter.sum.isUnlisted,
      amounts: shares.map(({ counter: { sum: { field } }, amount }) => ({
        field,
        amount,
      })),
    }));
    const holdsThat = (areReleased: boolean) =>
      changes.filter(({ isReleased }) => isReleased === areReleased)
        .map(({ hold }) => hold);
    const [holds, releases] = [holdsThat(false), holdsThat(true)];
    const id = ids.next("batch");
    const batch = { id, additions, holds, releases };
    return { batch, shares: tables.flat() };
  }

  function takeTables(
    limits: readonly Counted[] | undefined,
  ): readonly (readonly CounterShare[])[] {
    const wanted = limits === undefined
      ? changed.keys()
      : limits.flatMap(({ sums }) => sums).map(({ table }) => table);
    const taken: CounterShare[][] = [];
    let size = 0;
    for (const table of wanted) {
      if (size >= MAX_BATCH) break;
      const some = changed.get(table);
      if (some === undefined) continue;
      changed.delete(table);
      size += some.size;
      taken.push([...some].map((counter) => {
        const amount = counter.unsent;
        counter.unsent = 0;
        return { counter, amount };
      }));
    }
    return taken;
  }

  function takeHolds(
    limits: readonly Counted[] | undefined,
  ): readonly HoldChange[] {
    const taken: HoldChange[] = [];
    for (const [name, change] of changedHolds) {
      if (taken.length >= MAX_BATCH) break;
      const isWanted = limits === undefined ||
        limits.some(({ key }) => key === change.hold.key);
      if (!isWanted) continue;
      changedHolds.delete(name);
      taken.push(change);
    }
    return taken;
  }

  function forget(counter: Counter): void {
    const { table, field } = counter.sum;
    if (!isDaysTable(table) || isPending(counter)) return;
    counters.find(table)?.delete(field);
  }

  function isPending(counter: Counter): boolean {
    return changed.get(counter.sum.table)?.has(counter) === true ||
      counter.added !== counter.confirmed;
  }

  async function post(sent: SentBatch): Promise<void> {
    try {
      await ledger.apply(sent.batch);
      unconfirmed.delete(sent);
      for (const { counter, amount } of sent.shares) {
        counter.confirmed += amount;
        forget(counter);
      }
    } catch {
      failed.push(sent);
      sendLater();
    }
  }

  return {
    open,
    find,
    table(name) {
      counters.dropEnded();
      return counters.find(name) ?? NO_COUNTERS;
    },
    isPending,
    forget,
    add({ amounts, ...place }) {
      const { table } = place;
      const some = changed.get(table) ?? new Set();
      for (const { field, amount } of amounts) {
        const counter = open({ ...place, field });
        if (counter === undefined) return;
        counter.exists = true;
        counter.added += amount;
        counter.unsent += amount;
        some.add(counter);
      }
      changed.set(table, some);
    },
    change(hold, isReleased) {
      const name = `${hold.key}\t${hold.id}`;
      changedHolds.delete(name);
      changedHolds.set(name, { hold, isReleased });
      const [oldest] = changedHolds.keys();
      if (changedHolds.size > MAX_WAITING_HOLDS && oldest !== undefined) {
        changedHolds.delete(oldest);
      }
    },
    send,
    sendLater,
    get isSettled() {
      return changed.size === 0 && changedHolds.size === 0 &&
        unconfirmed.size === 0;
    },
    close() {
      isClosed = true;
      cancelGathering?.();
    },
  };
}
