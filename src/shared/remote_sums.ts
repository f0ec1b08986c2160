import { createEndingTables } from "../usage/tables.ts";
import { createHolds } from "../usage/holds.ts";
import {
  type Claim,
  type Counted,
  decide,
  type Decision,
  HOLD_MS,
  holdsOf,
  type LimitUse,
  type Soon,
  soon,
  type Sum,
  type Sums,
} from "../usage/sums.ts";
import type { Ledger } from "./ledger.ts";
import { type Counter, createOutbox, type OutboxOptions } from "./outbox.ts";

/** The sums of a ledger for several processes or threads, as one of them uses it. */
export interface RemoteSums extends Sums {
  /** Sends the changes that the ledger has not confirmed. Call it when the ledger is back. */
  resume(): void;
  /** True when the ledger has confirmed everything. */
  readonly isSettled: boolean;
  /** Stops sending. */
  close(): void;
}

/** The dependencies of {@linkcode RemoteSums}. */
interface RemoteSumsOptions extends OutboxOptions {
  /** The timeout of a call to the ledger, in milliseconds. */
  readonly waitMs: number;
}

/** The part of the timeout that is kept for replies that have already arrived, in milliseconds. */
const REPLY_GRACE_MS = 5;

/** The interval between renewals of holds, in milliseconds, several times shorter than their lifetime. */
const RENEW_MS = HOLD_MS / 4;

/**
 * Creates sums beside a ledger. Changes are gathered and sent in batches until the ledger confirms them. Reads go to
 * the ledger. While it is away or late, the result is the last reading plus the additions of this process since then.
 */
export function createRemoteSums(options: RemoteSumsOptions): RemoteSums {
  const { ledger, clock, deadlines, waitMs } = options;
  const outbox = createOutbox(options);
  const names = createEndingTables(clock, () => new Map<string, true>());
  /** The holds of requests in this process. */
  const holds = createHolds(clock);
  let sinceMs = clock.now();
  let isClosed = false;
  let cancelRenewal: (() => void) | undefined;

  function learn(sum: Sum, value: number): void {
    const counter = outbox.open(sum);
    if (counter === undefined) return;
    counter.base = value;
    counter.baseConfirmed = counter.confirmed;
    counter.readAtMs = clock.elapsedMs();
  }

  function valueOf(sum: Sum): number {
    const counter = outbox.find(sum);
    return counter === undefined ? 0 : knownOf(counter);
  }

  function keepRenewing(): void {
    if (isClosed || cancelRenewal !== undefined || holds.size === 0) return;
    cancelRenewal = deadlines.start(RENEW_MS, () => {
      cancelRenewal = undefined;
      if (!ledger.isAway) resume();
      keepRenewing();
    });
  }

  function resume(): void {
    for (const hold of holds.all()) outbox.change(hold, false);
    outbox.send();
  }

  /** Calls the ledger. While it is away, late or failing, the result comes from `local()`. */
  function call<Value, Result>(
    send: () => Promise<Value>,
    { local, use, onLate }: {
      readonly local: () => Result;
      /** Turns the reply into the result; also called for a reply that is too late. */
      readonly use: (reply: Value, isLate: boolean) => Result;
      /** Receives the local result and the late reply; `undefined` when the call failed. */
      readonly onLate?: (answer: Result, reply: Value | undefined) => void;
    },
  ): Result | Promise<Result> {
    if (ledger.isAway) return local();
    // Resends failed batches first: one may have been made, and only then is the ledger's reply certain.
    outbox.send([]);
    const { promise, resolve } = Promise.withResolvers<Result>();
    let answer: Result | undefined;
    let cancel = deadlines.start(waitMs - REPLY_GRACE_MS, () => {
      // This thread may have been too busy to handle a reply that has already arrived.
      cancel = deadlines.start(REPLY_GRACE_MS, () => resolve(answer = local()));
    });
    send().then((reply) => {
      cancel();
      resolve(use(reply, answer !== undefined));
      if (answer !== undefined) onLate?.(answer, reply);
    }, () => {
      cancel();
      answer ??= local();
      resolve(answer);
      onLate?.(answer, undefined);
    });
    return promise;
  }

  function localUse({ sums, key }: Counted, id = ""): LimitUse {
    return { counted: sums.map(valueOf), held: holds.total(key, id) };
  }

  function learnUses(
    limits: readonly Counted[],
    { uses, sinceMs: since = clock.now() }: Pick<
      Awaited<ReturnType<Ledger["reserve"]>>,
      "uses" | "sinceMs"
    >,
  ): readonly LimitUse[] {
    sinceMs = since;
    for (const [index, { sums }] of limits.entries()) {
      const counted = uses[index]?.counted ?? [];
      sums.forEach((sum, place) => learn(sum, counted[place] ?? 0));
    }
    return uses;
  }

  /** Reads the use of limits. */
  function readUses(limits: readonly Counted[]): Soon<readonly LimitUse[]> {
    const claims = limits.map((one) => ({ ...one, amount: 0, most: Infinity }));
    return call(() => ledger.reserve({ id: "", claims }), {
      local: () => limits.map((one) => localUse(one)),
      use: (reply) => learnUses(limits, reply),
    });
  }

  function hold(
    id: string,
    claims: readonly Claim[],
    lifetimeMs: number,
  ): void {
    holds.put(holdsOf(id, claims), lifetimeMs);
    keepRenewing();
  }

  /** Corrects the ledger after a late reply: the local decision counts. */
  function correct(
    id: string,
    claims: readonly Claim[],
    { isGranted }: Decision,
  ): void {
    for (const one of holdsOf(id, claims)) {
      outbox.change(one, !(isGranted && holds.has(one)));
    }
    outbox.sendLater();
  }

  function localTable(name: string): ReadonlyMap<string, number> {
    return new Map(
      [...outbox.table(name)].filter(([, { exists }]) => exists)
        .map(([field, counter]) => [field, knownOf(counter)]),
    );
  }

  /** Stores a table that was read, if a part of it is known here, and returns its values. */
  function learnTable(
    name: string,
    values: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, number> {
    const known = outbox.table(name);
    const [one] = known.values();
    if (one === undefined) return values;
    const { endsAtMs } = one.sum;
    for (const field of new Set([...known.keys(), ...values.keys()])) {
      const sum = { table: name, field, endsAtMs };
      learn(sum, values.get(field) ?? 0);
      const counter = outbox.open(sum);
      if (counter === undefined) continue;
      counter.exists = values.has(field) || outbox.isPending(counter);
    }
    const table = localTable(name);
    for (const counter of known.values()) outbox.forget(counter);
    return table;
  }

  return {
    get sinceMs() {
      return sinceMs;
    },
    apply({ additions, holds: lasting = [], releases = [] }) {
      additions.forEach(outbox.add);
      holds.put(lasting, HOLD_MS);
      holds.remove(releases);
      for (const one of lasting) outbox.change(one, false);
      for (const one of releases) outbox.change(one, true);
      outbox.sendLater();
      keepRenewing();
    },
    reserve(id, claims, lifetimeMs = Infinity) {
      outbox.send(claims);
      return call(() => ledger.reserve({ id, claims }), {
        local() {
          const uses = claims.map((claim) => localUse(claim, id));
          const decision = decide(claims, uses);
          if (decision.isGranted) hold(id, claims, lifetimeMs);
          return decision;
        },
        use(decision, isLate) {
          const uses = learnUses(claims, decision);
          const { isGranted } = decision;
          if (isGranted && !isLate) hold(id, claims, lifetimeMs);
          return { isGranted, uses };
        },
        onLate(answer, reply) {
          if (answer.isGranted !== reply?.isGranted) {
            correct(id, claims, answer);
          }
        },
      });
    },
    uses(limits) {
      outbox.send(limits);
      return readUses(limits);
    },
    read(sums, maxAgeMs = 0) {
      const local = () => sums.map(valueOf);
      const oldestMs = clock.elapsedMs() - maxAgeMs;
      const isFresh = maxAgeMs > 0 &&
        sums.every((sum) =>
          (outbox.find(sum)?.readAtMs ?? -Infinity) >= oldestMs
        );
      if (isFresh) return local();
      const tables = Map.groupBy(sums, ({ table }) => table);
      const limits = [...tables.values()].map((sums) => ({ sums, key: "" }));
      return soon(readUses(limits), local);
    },
    table(name) {
      return call(() => ledger.table(name), {
        local: () => localTable(name),
        use(reply) {
          ({ sinceMs = clock.now() } = reply);
          return learnTable(name, reply.values);
        },
      });
    },
    once(name, endsAtMs) {
      names.dropEnded();
      const known = names.open({ table: name, endsAtMs });
      if (known === undefined || known.size > 0) return false;
      known.set("", true);
      if (ledger.isAway) return true;
      return ledger.once({ name, endsAtMs }).catch(() => true);
    },
    resume,
    get isSettled() {
      return outbox.isSettled;
    },
    close() {
      isClosed = true;
      outbox.close();
      cancelRenewal?.();
    },
  };
}

/** Returns the last reading of a counter plus the additions of this process since then. */
function knownOf({ base, added, baseConfirmed }: Counter): number {
  return base + added - baseConfirmed;
}
