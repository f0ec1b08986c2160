import type { Timers } from "../../core/time/timers.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import type { Slot } from "./slot.ts";

/** The metrics of all threads together. */
export interface PoolMetrics {
  /** Asks every thread that listens; one that does not answer in time is shown as it was. */
  collect(slots: readonly Slot[]): Promise<readonly Snapshot[]>;
  /** Takes the answer of a thread. */
  answer(slot: Slot, id: number, snapshots: readonly Snapshot[]): void;
  /** Keeps what a thread counted that is gone, so that no sum ever falls. */
  retire(slot: Slot): void;
}

/** What {@linkcode createPoolMetrics} works with. */
export interface PoolMetricsOptions {
  readonly timers: Timers;
  /** Makes one snapshot of the counters of several. */
  fold(snapshots: readonly Snapshot[]): Promise<Snapshot>;
}

/** How long threads may take to answer, in milliseconds: less than a scrape may. */
const ANSWER_MS = 2_000;

/** Nothing is collected yet. */
export function createPoolMetrics(
  { timers, fold }: PoolMetricsOptions,
): PoolMetrics {
  const latest = new Map<Slot, readonly Snapshot[]>();
  const asked = new Map<number, { missing: Set<Slot>; done: () => void }>();
  let retired: Promise<readonly Snapshot[]> = Promise.resolve([]);
  let lastId = 0;

  function settle(id: number, slot: Slot): void {
    const question = asked.get(id);
    question?.missing.delete(slot);
    if (question?.missing.size === 0) question.done();
  }

  async function ask(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const id = ++lastId;
    const answered = Promise.withResolvers<void>();
    asked.set(id, { missing: new Set(slots), done: answered.resolve });
    const stopTimer = timers.ring(ANSWER_MS, answered.resolve);
    for (const slot of slots) slot.send({ kind: "collect", id });
    await answered.promise;
    stopTimer();
    asked.delete(id);
  }

  return {
    async collect(slots) {
      await ask(slots.filter(({ isListening }) => isListening));
      return [...await retired, ...[...latest.values()].flat()];
    },
    answer(slot, id, snapshots) {
      if (snapshots.length > 0) latest.set(slot, snapshots);
      settle(id, slot);
    },
    retire(slot) {
      const last = latest.get(slot) ?? [];
      latest.delete(slot);
      for (const id of [...asked.keys()]) settle(id, slot);
      if (last.length === 0) return;
      const before = retired;
      retired = before.then(async (gone) => [await fold([...gone, ...last])]);
    },
  };
}
