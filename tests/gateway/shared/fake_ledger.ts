import type { Clock } from "../../../src/base/time/timers.ts";
import type { Ledger } from "../../../src/gateway/shared/ledger.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { HOLD_MS } from "../../../src/gateway/usage/sums.ts";

/** The behaviour of the ledger at each batch. */
export type Behaviour =
  | "answers"
  /** It applies the batch, and answers at {@linkcode FakeLedger.release}. */
  | "waits"
  /** It applies the batch, and its answer is lost. */
  | "breaks after"
  /** The batch is lost. */
  | "breaks before";

/** A ledger for several processes, whose behaviour the test sets. */
export interface FakeLedger {
  /** Returns the ledger's connection for one process. */
  connect(): Ledger & { isAway: boolean };
  behaviour: Behaviour;
  /** Sends all waiting answers, in order. */
  release(): void;
  /** Forgets all batches since the last snapshot. Without a snapshot, it forgets all. */
  lose(): void;
  /** Takes a snapshot for {@linkcode FakeLedger.lose}. */
  snapshot(): void;
  readonly sums: ReturnType<typeof createMemorySums>;
  /** The number of received batches, repeated ones included. */
  readonly batches: number;
}

/** Creates a ledger without sums. */
export function createFakeLedger(clock: Clock): FakeLedger {
  let done: Parameters<Ledger["apply"]>[0][] = [];
  let kept: typeof done = [];
  let sums = createMemorySums(clock);
  let waiting: (() => void)[] = [];
  let batches = 0;

  async function answer<Value>(value: () => Value): Promise<Value> {
    const { behaviour } = fake;
    if (behaviour === "breaks before") throw new Error("broken");
    const result = value();
    if (behaviour === "breaks after") throw new Error("broken");
    if (behaviour === "waits") {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    return result;
  }

  const fake: FakeLedger = {
    behaviour: "answers",
    get sums() {
      return sums;
    },
    get batches() {
      return batches;
    },
    connect: () => ({
      isAway: false,
      apply: (batch) =>
        answer(() => {
          batches += 1;
          if (done.some(({ id }) => id === batch.id)) return;
          done.push(batch);
          sums.apply(batch);
        }),
      reserve: ({ id, claims }) =>
        answer(() => ({
          ...(id === ""
            ? { isGranted: false, uses: sums.uses(claims) }
            : sums.reserve(id, claims, HOLD_MS)),
          sinceMs: sums.sinceMs,
        })),
      table: (name) =>
        answer(() => ({ values: sums.table(name), sinceMs: sums.sinceMs })),
      once: ({ name, endsAtMs }) => answer(() => sums.once(name, endsAtMs)),
    }),
    release() {
      const due = waiting;
      waiting = [];
      for (const resolve of due) resolve();
    },
    snapshot() {
      kept = [...done];
    },
    lose() {
      done = [...kept];
      sums = createMemorySums(clock);
      for (const batch of done) sums.apply(batch);
    },
  };
  return fake;
}
