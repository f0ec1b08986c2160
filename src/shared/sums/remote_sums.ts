import type { Clock } from "../../core/time/clock.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import type {
  Addition,
  RefusedReservation,
  Reservation,
  Sum,
  Sums,
} from "../../usage/sums.ts";
import { createEntries, type Entry, valueOf } from "./entries.ts";
import { createOutbox } from "./outbox.ts";
import type { RemoteLedger, RemoteReservation } from "./remote_ledger.ts";
import { createReserving, refusedHere } from "./reserving.ts";

/** Sums that several keep together, of which this process knows a part. */
export interface RemoteSums extends Sums {
  /** Sends what the ledger has not confirmed, or what it lost; call it when the ledger can be reached again. */
  resume(): void;
  /** Sends nothing any more. */
  close(): void;
  /** Whether the ledger has confirmed everything. */
  readonly isSettled: boolean;
}

/** What {@linkcode createRemoteSums} works with. */
export interface RemoteSumsOptions {
  readonly ledger: RemoteLedger;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** How long additions are gathered before they are sent, in milliseconds. */
  readonly gatherMs: number;
  /** How long whoever asks waits for the ledger, in milliseconds. */
  readonly waitMs: number;
}

/** A sum that somebody reads is asked for again when what is known is older than this, in milliseconds. */
const STALE_MS = 1000;

/** Of the time that whoever asks waits, so much is for answers that are there already, in milliseconds. */
const MOMENT_MS = 5;

/**
 * Sums beside a ledger: what is known here is there at once, additions reach the ledger a little later, and only a
 * reservation waits for it, for a while. When the ledger is away it is decided by what is known here, and the ledger
 * is told when it is back.
 */
export function createRemoteSums(options: RemoteSumsOptions): RemoteSums {
  const { ledger, clock, deadlines, gatherMs, waitMs } = options;
  const entries = createEntries(clock);
  const outbox = createOutbox({
    ledger,
    entries,
    elapsedMs: clock.elapsedMs,
    onFailed: sendLater,
  });
  let isGathering = false;
  let isClosed = false;
  let stopGathering = () => {};

  function sendLater(): void {
    if (isGathering || isClosed) return;
    isGathering = true;
    stopGathering = deadlines.start(gatherMs, () => {
      isGathering = false;
      outbox.send();
    });
  }

  function put(entry: Entry): void {
    outbox.put(entry);
    sendLater();
  }

  function addOne({ sum, amount }: Addition): void {
    const entry = entries.open(sum);
    if (entry === undefined) return;
    entry.exists = true;
    entry.isToAdd = true;
    entry.unconfirmed += amount;
    entry.unsent += amount;
    put(entry);
  }

  function readOne(sum: Sum): number {
    const entry = entries.open(sum);
    if (entry === undefined) return 0;
    const { readAtMs } = entry;
    if (readAtMs === undefined || clock.elapsedMs() - readAtMs > STALE_MS) {
      entry.isToRead = true;
      put(entry);
    }
    return valueOf(entry);
  }

  function reserveHere(
    list: readonly Reservation[],
  ): RefusedReservation | undefined {
    const refused = refusedHere(list, entries);
    if (refused === undefined) list.forEach(addOne);
    return refused;
  }

  function reserveThere(
    list: readonly Reservation[],
  ): Promise<RefusedReservation | undefined> {
    const reserving = createReserving(list, entries);
    let takeBack = deadlines.start(waitMs - MOMENT_MS, () => {
      // This process may have been too busy itself to take an answer that is there.
      takeBack = deadlines.start(MOMENT_MS, reserving.decideHere);
    });
    ledger.reserve(list).then((told) => {
      takeBack();
      if (told === "lost") {
        outbox.sendAndCheck();
        return reserving.failed().forEach(addOne);
      }
      learn(list, told);
      reserving.decided(told).forEach(addOne);
    }, () => {
      takeBack();
      reserving.failed().forEach(addOne);
    });
    return reserving.decision;
  }

  function learn(
    list: readonly Reservation[],
    told: Exclude<RemoteReservation, "lost">,
  ): void {
    for (const [index, { sum, amount }] of list.entries()) {
      const value = "values" in told
        ? told.values[index]
        : told.refused === index
        ? told.used
        : undefined;
      const entry = entries.open(sum);
      if (entry === undefined || value === undefined) continue;
      entry.known = value;
      if ("values" in told) entry.own += amount;
      entry.readAtMs = clock.elapsedMs();
    }
  }

  /** What somebody only read is not there. */
  function tableHere(name: string): ReadonlyMap<string, number> {
    return new Map(
      [...entries.table(name)]
        .filter(([, one]) => one.exists || valueOf(one) !== 0)
        .map(([field, one]) => [field, valueOf(one)]),
    );
  }

  /** Where some of a table is known here, all of it is known from now on. */
  function learnTable(
    name: string,
    told: ReadonlyMap<string, number>,
  ): void {
    const [known] = entries.table(name).values();
    if (known === undefined) return;
    const { endsAtMs } = known.sum;
    for (const [field, value] of told) {
      const entry = entries.open({ table: name, field, endsAtMs });
      if (entry === undefined) continue;
      entry.known = value;
      entry.exists = true;
      entry.readAtMs = clock.elapsedMs();
    }
  }

  async function tableThere(
    name: string,
  ): Promise<ReadonlyMap<string, number>> {
    const late = Promise.withResolvers<undefined>();
    const takeBack = deadlines.start(waitMs, () => late.resolve(undefined));
    const asked = ledger.table(name).catch(() => undefined);
    const told = await Promise.race([asked, late.promise]);
    takeBack();
    if (told === undefined) return tableHere(name);
    learnTable(name, told);
    return new Map([...told, ...tableHere(name)]);
  }

  return {
    read: (sums) => sums.map(readOne),
    reserve(list) {
      if (list.length === 0) return undefined;
      if (ledger.isAway) return reserveHere(list);
      outbox.sendOf(list.map(({ sum }) => sum));
      return reserveThere(list);
    },
    add: (list) => list.forEach(addOne),
    begin(list) {
      for (const { sum, amount } of list) {
        const entry = entries.open(sum);
        const isBegun = entry === undefined || entry.readAtMs !== undefined ||
          valueOf(entry) !== 0;
        if (isBegun) continue;
        entry.known = amount;
        entry.exists = true;
        entry.beginWith = amount;
        put(entry);
      }
    },
    table(name) {
      if (ledger.isAway) return tableHere(name);
      outbox.send();
      return tableThere(name);
    },
    resume: outbox.sendAndCheck,
    close() {
      isClosed = true;
      stopGathering();
    },
    get isSettled() {
      return outbox.isEmpty;
    },
  };
}
