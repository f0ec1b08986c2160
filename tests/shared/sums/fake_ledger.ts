import type { Clock } from "../../../src/core/time/clock.ts";
import type {
  Batch,
  RemoteLedger,
  RemoteReservation,
} from "../../../src/shared/sums/remote_ledger.ts";
import { createMemorySums } from "../../../src/usage/memory_sums.ts";
import type { Reservation, Sum } from "../../../src/usage/sums.ts";

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
  connect(): RemoteLedger & { isAway: boolean };
  behaviour: Behaviour;
  /** Lets all answers out that wait, in order. */
  release(): void;
  /** Forgets everything. */
  lose(): void;
  readonly sums: ReturnType<typeof createMemorySums>;
  /** How many batches came. */
  readonly batches: number;
}

/** Creates a ledger without sums. */
export function createFakeLedger(clock: Clock): FakeLedger {
  let sums = createMemorySums(clock);
  /** The last batch of each process, as it counts them. */
  const lastByKey = new Map<string, number>();
  let processes = 0;
  let waiting: (() => void)[] = [];
  let batches = 0;

  async function answer<Value>(
    behaviour: Behaviour,
    value: () => Value,
  ): Promise<Value> {
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
    connect() {
      const id = ++processes;
      return {
        isAway: false,
        apply: (batch) =>
          answer(fake.behaviour, () => {
            batches += 1;
            const key = `${id} ${batch.losses}`;
            const last = lastByKey.get(key) ?? 0;
            if (last === 0 && batch.number > 1) return "lost";
            if (batch.number > last + 1) throw new Error("gap");
            if (batch.number > last) apply(batch);
            lastByKey.set(key, Math.max(last, batch.number));
            return batch.operations.map(({ sum }) => sums.read([sum])[0] ?? 0);
          }),
        reserve: (list) => answer(fake.behaviour, () => reserve(list)),
        table: (name) => answer(fake.behaviour, () => sums.table(name)),
      };
    },
    release() {
      const due = waiting;
      waiting = [];
      for (const resolve of due) resolve();
    },
    lose() {
      sums = createMemorySums(clock);
      lastByKey.clear();
    },
  };

  function apply({ operations }: Batch): void {
    for (const { kind, sum, amount, known } of operations) {
      if (kind === "add") sums.add([{ sum, amount }]);
      if (kind === "begin") sums.begin([{ sum, amount }]);
      if (kind !== "restore") continue;
      const [most, own] = [sumBeside(sum, "known"), sumBeside(sum, "own")];
      const [oldMost = 0, oldOwn = 0] = sums.read([most, own]);
      const newMost = Math.max(oldMost, known);
      sums.add([
        { sum: most, amount: newMost - oldMost },
        { sum: own, amount },
        {
          sum,
          amount: Math.max(newMost, oldOwn + amount) -
            Math.max(oldMost, oldOwn),
        },
      ]);
    }
  }

  function reserve(list: readonly Reservation[]): RemoteReservation {
    const refused = sums.reserve(list);
    if (refused === undefined) {
      return { values: sums.read(list.map(({ sum }) => sum)) };
    }
    const index = list.indexOf(refused.reservation);
    return { refused: index, used: refused.used };
  }

  return fake;
}

function sumBeside(sum: Sum, name: string): Sum {
  return { ...sum, table: `${name} of ${sum.table}` };
}
