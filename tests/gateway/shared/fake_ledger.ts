import type { Clock } from "../../../src/base/time/timers.ts";
import type { Ledger } from "../../../src/gateway/shared/ledger.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { HOLD_MS } from "../../../src/gateway/usage/sums.ts";

/** What the ledger does with what reaches it. */
export type Behaviour =
  | "answers"
  /** It takes it in and the answer waits until {@linkcode FakeLedger.release}. */
  | "waits"
  /** It takes it in, and the answer is lost. */
  | "breaks after"
  /** It does not come there. */
  | "breaks before";

/** A ledger of the test for several processes, which does what the test says. */
export interface FakeLedger {
  /** The ledger as one process sees it. */
  connect(): Ledger & { isAway: boolean };
  behaviour: Behaviour;
  /** Lets all answers out that wait, in order. */
  release(): void;
  /** Forgets everything that came since the last snapshot; without one, everything. */
  lose(): void;
  /** Keeps what there is for {@linkcode FakeLedger.lose}. */
  snapshot(): void;
  readonly sums: ReturnType<typeof createMemorySums>;
  /** How many batches came, again or for the first time. */
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
