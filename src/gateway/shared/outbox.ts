import type { Ids } from "@gateway/base/ids";
import type { Clock } from "@gateway/base/time/timers";
import type { Deadlines } from "@gateway/base/time/deadlines";
import { isDaysTable } from "../usage/history.ts";
import { createEndingTables, type EndingTables } from "../usage/tables.ts";
import type { Addition, Counted, Hold, Sum } from "../usage/sums.ts";
import type { Batch, Ledger } from "./ledger.ts";

/** What this process knows about a sum. */
export interface Counter {
  readonly sum: Sum;
  /** The last value that the ledger returned. */
  base: number;
  /** The part of `added` that the ledger had confirmed when it returned `base`. */
  baseConfirmed: number;
  /** The time at which `base` was read, in milliseconds on a monotonic clock. */
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

/** The dependencies of an {@linkcode Outbox}. */
export interface OutboxOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly ids: Ids;
  /** The time for which changes are gathered, in milliseconds. */
  readonly gatherMs: number;
}

/** A batch with this many changes takes no further table. A long batch would delay other clients of a store. */
const MAX_BATCH = 500;

/**
 * The largest number of changes of holds that wait while the ledger is away. Older changes are dropped, because holds
 * expire by themselves.
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

/**
 * The changes of this process. Changes are gathered and sent in batches. A batch is sent again until the ledger
 * confirms it.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #counters: EndingTables<Map<string, Counter>>;
  /**
   * Changed counters by table. All additions of a request to one table go in one batch, so that these additions are
   * either all counted or all lost.
   */
  readonly #changed = new Map<string, Set<Counter>>();
  readonly #changedHolds = new Map<string, HoldChange>();
  readonly #unconfirmed = new Set<SentBatch>();
  readonly #failed: SentBatch[] = [];
  #isClosed = false;
  #cancelGathering: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    // Sessions cannot share a table here, because a counter belongs to one table of the ledger.
    this.#counters = createEndingTables(options.clock, () => new Map(), {
      crowds: "drop",
    });
  }

  /** True when the ledger has confirmed everything. */
  get isSettled(): boolean {
    return this.#changed.size === 0 && this.#changedHolds.size === 0 &&
      this.#unconfirmed.size === 0;
  }

  /** Returns the counter of a sum; `undefined` when the sum has ended. */
  open(sum: Sum): Counter | undefined {
    this.#counters.dropEnded();
    const table = this.#counters.open(sum);
    const found = table?.get(sum.field);
    if (table === undefined || found !== undefined) return found;
    const counter = {
      ...{ sum, base: 0, baseConfirmed: 0, readAtMs: -Infinity },
      ...{ exists: false, added: 0, confirmed: 0, unsent: 0 },
    };
    table.set(sum.field, counter);
    return counter;
  }

  find({ table, field }: Sum): Counter | undefined {
    return this.table(table).get(field);
  }

  /** Returns the end of a table that has counters, in milliseconds since 1970. */
  endOf(table: string): number | undefined {
    return this.#counters.endOf({ table });
  }

  /** Returns the counters of a table by field. */
  table(name: string): ReadonlyMap<string, Counter> {
    this.#counters.dropEnded();
    return this.#counters.find({ table: name }) ?? NO_COUNTERS;
  }

  /** Returns true when the ledger has not confirmed all additions to a counter. */
  isPending(counter: Counter): boolean {
    return this.#changed.get(counter.sum.table)?.has(counter) === true ||
      counter.added !== counter.confirmed;
  }

  /**
   * Drops a confirmed counter of a day. The counters of five weeks would take more memory here than in the ledger, and
   * no limit reads these counters.
   */
  forget(counter: Counter): void {
    const { table, field } = counter.sum;
    if (!isDaysTable(table) || this.isPending(counter)) return;
    this.#counters.find({ table })?.delete(field);
  }

  add({ amounts, ...place }: Addition): void {
    const { table } = place;
    const some = this.#changed.get(table) ?? new Set();
    for (const { field, amount } of amounts) {
      const counter = this.open({ ...place, field });
      if (counter === undefined) return;
      counter.exists = true;
      counter.added += amount;
      counter.unsent += amount;
      some.add(counter);
    }
    this.#changed.set(table, some);
  }

  /** Begins, renews or releases a hold. */
  change(hold: Hold, isReleased: boolean): void {
    const name = `${hold.key}\t${hold.id}`;
    this.#changedHolds.delete(name);
    this.#changedHolds.set(name, { hold, isReleased });
    const [oldest] = this.#changedHolds.keys();
    if (this.#changedHolds.size > MAX_WAITING_HOLDS && oldest !== undefined) {
      this.#changedHolds.delete(oldest);
    }
  }

  /** Sends all changes. With `limits`, sends only the changes of these limits, and the other changes wait. */
  send(limits?: readonly Counted[]): void {
    if (this.#options.ledger.isAway) return;
    for (const sent of this.#failed.splice(0)) this.#post(sent);
    let sent = this.#takeBatch(limits);
    while (sent !== undefined) {
      this.#unconfirmed.add(sent);
      this.#post(sent);
      sent = this.#takeBatch(limits);
    }
  }

  /** Sends all changes soon. */
  sendLater(): void {
    if (this.#isClosed) return;
    const { deadlines, gatherMs } = this.#options;
    this.#cancelGathering ??= deadlines.start(gatherMs, () => {
      this.#cancelGathering = undefined;
      this.send();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelGathering?.();
  }

  #takeBatch(limits: readonly Counted[] | undefined): SentBatch | undefined {
    const tables = this.#takeTables(limits);
    const changes = this.#takeHolds(limits);
    if (tables.length === 0 && changes.length === 0) return undefined;
    const additions = tables.flatMap(additionOf);
    const holdsThat = (areReleased: boolean) =>
      changes.filter(({ isReleased }) => isReleased === areReleased)
        .map(({ hold }) => hold);
    const [holds, releases] = [holdsThat(false), holdsThat(true)];
    const id = this.#options.ids.next("batch");
    const batch = { id, additions, holds, releases };
    return { batch, shares: tables.flat() };
  }

  #takeTables(
    limits: readonly Counted[] | undefined,
  ): readonly (readonly CounterShare[])[] {
    const wanted = limits === undefined
      ? this.#changed.keys()
      : limits.flatMap(({ sums }) => sums).map(({ table }) => table);
    const taken: CounterShare[][] = [];
    let size = 0;
    for (const table of wanted) {
      if (size >= MAX_BATCH) break;
      const some = this.#changed.get(table);
      if (some === undefined) continue;
      this.#changed.delete(table);
      size += some.size;
      taken.push([...some].map((counter) => {
        const amount = counter.unsent;
        counter.unsent = 0;
        return { counter, amount };
      }));
    }
    return taken;
  }

  #takeHolds(limits: readonly Counted[] | undefined): readonly HoldChange[] {
    const taken: HoldChange[] = [];
    for (const [name, change] of this.#changedHolds) {
      if (taken.length >= MAX_BATCH) break;
      const isWanted = limits === undefined ||
        limits.some(({ key }) => key === change.hold.key);
      if (!isWanted) continue;
      this.#changedHolds.delete(name);
      taken.push(change);
    }
    return taken;
  }

  async #post(sent: SentBatch): Promise<void> {
    try {
      await this.#options.ledger.apply(sent.batch);
      this.#unconfirmed.delete(sent);
      for (const { counter, amount } of sent.shares) {
        counter.confirmed += amount;
        this.forget(counter);
      }
    } catch {
      this.#failed.push(sent);
      this.sendLater();
    }
  }
}

/**
 * Returns the additions to one table. Additions from an ended life of a session count in the next life of the session.
 */
function additionOf(shares: readonly CounterShare[]): Addition | [] {
  const last = shares.at(-1);
  if (last === undefined) return [];
  const { field: _, ...place } = last.counter.sum;
  const ends = shares.map(({ counter }) => counter.sum.endsAtMs);
  return {
    ...place,
    endsAtMs: Math.max(...ends),
    amounts: shares.map(({ counter, amount }) => ({
      field: counter.sum.field,
      amount,
    })),
  };
}
