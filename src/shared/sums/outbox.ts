import type { Sum } from "../../usage/sums.ts";
import type { Batch, Operation, RemoteLedger } from "./remote_ledger.ts";
import type { Entries, Entry } from "./entries.ts";

/** Sends what changed here to the ledger, in batches that are each done once. */
export interface Outbox {
  /** Has something to be sent with the next batch. */
  put(entry: Entry): void;
  /** Sends what there is now, if the ledger can be reached. */
  send(): void;
  /** Sends what there is of some sums, if there is any; the rest waits to be sent with more. */
  sendOf(sums: readonly Sum[]): void;
  /** The same, and sees whether the ledger has lost what it had even if there is nothing to send. */
  sendAndCheck(): void;
  /** Whether there is anything that the ledger has not confirmed. */
  readonly isEmpty: boolean;
}

/** What an {@linkcode Outbox} works with. */
export interface OutboxOptions {
  readonly ledger: RemoteLedger;
  readonly entries: Entries;
  /** Milliseconds on a clock that never jumps. */
  readonly elapsedMs: () => number;
  /** Called when something has to be sent again. */
  readonly onFailed: () => void;
}

/** More operations would hold other clients of a store up. */
const MAX_OPERATIONS = 500;

/** A batch, and what it is about. */
interface Sent extends Batch {
  readonly entries: readonly Entry[];
}

/** Nothing is to be sent. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { ledger, entries, elapsedMs, onFailed } = options;
  const changed = new Set<Entry>();
  /** In the order of their numbers. */
  let unconfirmed: Sent[] = [];
  /** Whether those have to be sent again before anything else. */
  let isBroken = false;
  let lastNumber = 0;
  let losses = 0;

  function send(): void {
    if (ledger.isAway) return;
    if (isBroken) {
      isBroken = false;
      for (const batch of unconfirmed) post(batch);
    }
    while (changed.size > 0 && !isBroken) {
      const batch = nextBatch();
      unconfirmed.push(batch);
      post(batch);
    }
  }

  function sendOf(sums: readonly Sum[]): void {
    if (ledger.isAway) return;
    if (isBroken) return send();
    const some = sums.flatMap((sum) => {
      const entry = entries.find(sum);
      return entry !== undefined && changed.has(entry) ? [entry] : [];
    });
    if (some.length === 0) return;
    const batch = nextBatch(some);
    unconfirmed.push(batch);
    post(batch);
  }

  function nextBatch(some: Iterable<Entry> = changed): Sent {
    const operations: Operation[] = [];
    const about: Entry[] = [];
    for (const entry of some) {
      if (operations.length >= MAX_OPERATIONS) break;
      changed.delete(entry);
      for (const operation of takeOperations(entry)) {
        operations.push(operation);
        about.push(entry);
      }
    }
    return { number: ++lastNumber, losses, operations, entries: about };
  }

  async function post(batch: Sent): Promise<void> {
    try {
      const values = await ledger.apply(batch);
      if (!unconfirmed.includes(batch)) return;
      if (values === "lost") return beginAnew();
      confirm(batch, values);
    } catch {
      if (!unconfirmed.includes(batch)) return;
      isBroken = true;
      onFailed();
    }
  }

  function confirm(batch: Sent, values: readonly number[]): void {
    unconfirmed = unconfirmed.filter((one) => one !== batch);
    const readAtMs = elapsedMs();
    for (const [index, { kind, amount }] of batch.operations.entries()) {
      const entry = batch.entries[index];
      const value = values[index];
      if (entry === undefined || value === undefined) continue;
      if (kind === "add") {
        entry.unconfirmed -= amount;
        entry.own += amount;
      }
      entry.known = value;
      entry.readAtMs = readAtMs;
    }
  }

  /** What the ledger lost it gets from what is known here, and then what it has never confirmed. */
  function beginAnew(): void {
    unconfirmed = [];
    isBroken = false;
    lastNumber = 0;
    losses += 1;
    for (const entry of entries.all()) {
      entry.unsent = entry.unconfirmed;
      entry.isToAdd ||= entry.unsent !== 0;
      entry.isToRestore = entry.exists || entry.known !== 0;
      if (entry.isToRestore || entry.isToAdd) changed.add(entry);
    }
    onFailed();
  }

  function sendAndCheck(): void {
    if (ledger.isAway) return;
    send();
    if (unconfirmed.length > 0) return;
    const batch = nextBatch();
    unconfirmed.push(batch);
    post(batch);
  }

  return {
    put: (entry) => void changed.add(entry),
    send,
    sendOf,
    sendAndCheck,
    get isEmpty() {
      return changed.size === 0 && unconfirmed.length === 0;
    },
  };
}

/** What is to be done to a sum, in order; the entry has nothing to send then. */
function takeOperations(entry: Entry): readonly Operation[] {
  const { sum, beginWith, isToRestore, own, unsent, known } = entry;
  const operations: Operation[] = [];
  if (beginWith !== undefined) {
    operations.push({ kind: "begin", sum, amount: beginWith, known: 0 });
  }
  if (isToRestore) {
    operations.push({ kind: "restore", sum, amount: own, known });
  }
  if (entry.isToAdd) {
    operations.push({ kind: "add", sum, amount: unsent, known: 0 });
  }
  if (entry.isToRead && operations.length === 0) {
    operations.push({ kind: "get", sum, amount: 0, known: 0 });
  }
  entry.beginWith = undefined;
  entry.isToRestore = false;
  entry.unsent = 0;
  entry.isToAdd = false;
  entry.isToRead = false;
  return operations;
}
