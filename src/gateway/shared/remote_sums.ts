import { createEndingTables, type EndingTables } from "../usage/tables.ts";
import type { Clock } from "@gateway/base/time/timers";
import { createHolds } from "../usage/holds.ts";
import {
  type Change,
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
import { type Counter, Outbox, type OutboxOptions } from "./outbox.ts";

interface RemoteSumsOptions extends OutboxOptions {
  /** The timeout of a call to the ledger, in milliseconds. */
  readonly waitMs: number;
}

/** The last part of a call's timeout, in milliseconds. In this time, replies that have already arrived are handled. */
const REPLY_GRACE_MS = 5;

/** The interval between renewals of holds, in milliseconds. It is several times shorter than the lifetime of a hold. */
const RENEW_MS = HOLD_MS / 4;

/** How a call gets its result, with the ledger's reply or without a reply. */
interface CallEnds<Value, Result> {
  readonly local: () => Result;
  /** Turns the reply into the result; also called for a reply that is too late. */
  readonly use: (reply: Value, isLate: boolean) => Result;
  /** Receives the local result and the late reply. The reply is `undefined` when the call failed. */
  readonly onLate?: (answer: Result, reply: Value | undefined) => void;
}

/**
 * The view of one process or thread on a shared ledger. Changes are gathered and sent in batches until the ledger
 * confirms the changes. Reads go to the ledger. While the ledger is away or late, the result is the last reading plus
 * the additions of this process since that reading.
 */
export class RemoteSums implements Sums {
  readonly #options: RemoteSumsOptions;
  readonly #ledger: Ledger;
  readonly #outbox: Outbox;
  readonly #known: KnownSums;
  readonly #names: EndingTables<Map<string, true>>;
  #isClosed = false;
  #cancelRenewal: (() => void) | undefined;

  constructor(options: RemoteSumsOptions) {
    const { ledger, clock } = options;
    this.#options = options;
    this.#ledger = ledger;
    this.#outbox = new Outbox(options);
    this.#known = new KnownSums(clock, this.#outbox);
    this.#names = createEndingTables(clock, () => new Map());
  }

  get sinceMs(): number {
    return this.#known.sinceMs;
  }

  /** True when the ledger has confirmed everything. */
  get isSettled(): boolean {
    return this.#outbox.isSettled;
  }

  apply({ additions, holds = [], releases = [] }: Change): void {
    for (const one of additions) this.#outbox.add(one);
    this.#known.holds.put(holds, HOLD_MS);
    this.#known.holds.remove(releases);
    for (const one of holds) this.#outbox.change(one, false);
    for (const one of releases) this.#outbox.change(one, true);
    this.#outbox.sendLater();
    this.#keepRenewing();
  }

  reserve(
    id: string,
    claims: readonly Claim[],
    lifetimeMs = Infinity,
  ): Soon<Decision> {
    const known = this.#known;
    const hold = () => {
      known.holds.put(holdsOf(id, claims), lifetimeMs);
      this.#keepRenewing();
    };
    this.#outbox.send(claims);
    return this.#call<ReservedUses, Decision>(
      () => this.#ledger.reserve({ id, claims }),
      {
        local() {
          const uses = claims.map((claim) => known.use(claim, id));
          const decision = decide(claims, uses);
          if (decision.isGranted) hold();
          return decision;
        },
        use(decision, isLate) {
          const uses = known.learnUses(claims, decision);
          const { isGranted } = decision;
          if (isGranted && !isLate) hold();
          return { isGranted, uses };
        },
        onLate: (answer, reply) => {
          if (answer.isGranted !== reply?.isGranted) {
            this.#correct(id, claims, answer);
          }
        },
      },
    );
  }

  uses(limits: readonly Counted[]): Soon<readonly LimitUse[]> {
    this.#outbox.send(limits);
    return this.#readUses(limits);
  }

  read(sums: readonly Sum[], maxAgeMs = 0): Soon<readonly number[]> {
    const { clock } = this.#options;
    const local = () => sums.map((sum) => this.#known.value(sum));
    const oldestMs = clock.elapsedMs() - maxAgeMs;
    const isFresh = maxAgeMs > 0 &&
      sums.every((sum) =>
        (this.#outbox.find(sum)?.readAtMs ?? -Infinity) >= oldestMs
      );
    if (isFresh) return local();
    const tables = Map.groupBy(sums, ({ table }) => table);
    const limits = [...tables.values()].map((sums) => ({ sums, key: "" }));
    return soon(this.#readUses(limits), local);
  }

  table(name: string): Soon<ReadonlyMap<string, number>> {
    return this.#call(() => this.#ledger.table(name), {
      local: () => this.#known.table(name),
      use: (reply) => this.#known.learnTable(name, reply),
    });
  }

  once(name: string, endsAtMs: number): Soon<boolean> {
    this.#names.dropEnded();
    const known = this.#names.open({ table: name, endsAtMs });
    if (known === undefined || known.size > 0) return false;
    known.set("", true);
    if (this.#ledger.isAway) return true;
    return this.#ledger.once({ name, endsAtMs }).catch(() => true);
  }

  /** Sends the changes that the ledger has not confirmed. Must be called when the ledger is back. */
  resume(): void {
    for (const hold of this.#known.holds.all()) {
      this.#outbox.change(hold, false);
    }
    this.#outbox.send();
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true;
    this.#outbox.close();
    this.#cancelRenewal?.();
  }

  /** Reads the use of limits. */
  #readUses(limits: readonly Counted[]): Soon<readonly LimitUse[]> {
    const claims = limits.map((one) => ({ ...one, amount: 0, most: Infinity }));
    return this.#call(() => this.#ledger.reserve({ id: "", claims }), {
      local: () => limits.map((one) => this.#known.use(one)),
      use: (reply) => this.#known.learnUses(limits, reply),
    });
  }

  /** Calls the ledger. While the ledger is away, late or failing, the result comes from `local()`. */
  #call<Value, Result>(
    send: () => Promise<Value>,
    { local, use, onLate }: CallEnds<Value, Result>,
  ): Soon<Result> {
    if (this.#ledger.isAway) return local();
    const { deadlines, waitMs } = this.#options;
    // Resends failed batches first, so that the ledger's reply certainly includes these batches.
    this.#outbox.send([]);
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

  /** Makes the ledger's holds match the local decision. Called when a late reply differs from the local decision. */
  #correct(
    id: string,
    claims: readonly Claim[],
    { isGranted }: Decision,
  ): void {
    for (const one of holdsOf(id, claims)) {
      this.#outbox.change(one, !(isGranted && this.#known.holds.has(one)));
    }
    this.#outbox.sendLater();
  }

  #keepRenewing(): void {
    const isIdle = this.#known.holds.size === 0;
    if (this.#isClosed || this.#cancelRenewal !== undefined || isIdle) return;
    this.#cancelRenewal = this.#options.deadlines.start(RENEW_MS, () => {
      this.#cancelRenewal = undefined;
      if (!this.#ledger.isAway) this.resume();
      this.#keepRenewing();
    });
  }
}

/** The use of limits as a ledger returned it. */
type ReservedUses = Awaited<ReturnType<Ledger["reserve"]>>;

/** What this process knows about the sums: the last readings, its own additions, and the holds of its requests. */
class KnownSums {
  readonly holds: ReturnType<typeof createHolds>;
  sinceMs: number;
  readonly #clock: Clock;
  readonly #outbox: Outbox;

  constructor(clock: Clock, outbox: Outbox) {
    this.#clock = clock;
    this.#outbox = outbox;
    this.holds = createHolds(clock);
    this.sinceMs = clock.now();
  }

  value(sum: Sum): number {
    const counter = this.#outbox.find(sum);
    return counter === undefined ? 0 : knownOf(counter);
  }

  use({ sums, key }: Counted, id = ""): LimitUse {
    const counted = sums.map((sum) => this.value(sum));
    const use = { counted, held: this.holds.total(key, id) };
    const [first] = sums;
    return first?.isLife
      ? { ...use, endsAtMs: this.#outbox.endOf(first.table) }
      : use;
  }

  learnUses(
    limits: readonly Counted[],
    { uses, sinceMs = this.#clock.now() }: Omit<ReservedUses, "isGranted">,
  ): readonly LimitUse[] {
    this.sinceMs = sinceMs;
    for (const [index, { sums }] of limits.entries()) {
      const { counted = [], endsAtMs } = uses[index] ?? {};
      sums.forEach((sum, place) =>
        this.#learn(
          endsAtMs === undefined ? sum : { ...sum, endsAtMs },
          counted[place] ?? 0,
        )
      );
    }
    return uses;
  }

  table(name: string): ReadonlyMap<string, number> {
    return new Map(
      [...this.#outbox.table(name)].filter(([, { exists }]) => exists)
        .map(([field, counter]) => [field, knownOf(counter)]),
    );
  }

  /**
   * Returns the values of a table from the ledger's reply. If this process has counters of the table, updates the
   * counters.
   */
  learnTable(
    name: string,
    { values, sinceMs = this.#clock.now() }: Awaited<
      ReturnType<Ledger["table"]>
    >,
  ): ReadonlyMap<string, number> {
    this.sinceMs = sinceMs;
    const known = this.#outbox.table(name);
    const [one] = known.values();
    if (one === undefined) return values;
    const { endsAtMs } = one.sum;
    for (const field of new Set([...known.keys(), ...values.keys()])) {
      const sum = { table: name, field, endsAtMs };
      const counter = this.#learn(sum, values.get(field) ?? 0);
      if (counter === undefined) continue;
      counter.exists = values.has(field) || this.#outbox.isPending(counter);
    }
    const table = this.table(name);
    for (const counter of known.values()) this.#outbox.forget(counter);
    return table;
  }

  #learn(sum: Sum, value: number): Counter | undefined {
    const counter = this.#outbox.open(sum);
    if (counter === undefined) return undefined;
    counter.base = value;
    counter.baseConfirmed = counter.confirmed;
    counter.readAtMs = this.#clock.elapsedMs();
    return counter;
  }
}

/** Returns the last reading of a counter plus the additions of this process since that reading. */
function knownOf({ base, added, baseConfirmed }: Counter): number {
  return base + added - baseConfirmed;
}
