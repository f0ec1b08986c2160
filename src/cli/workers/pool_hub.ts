import type { ConfigStore } from "../../config/store.ts";
import { type Clock, systemClock } from "../../core/time/clock.ts";
import { toPlain } from "../../limits/plain_reading.ts";
import { createPoller } from "../../limits/poller.ts";
import type { QuotaFetch } from "../../limits/read.ts";
import type { Log } from "../../observe/log.ts";
import { followNotice } from "../../shared/follow_notices.ts";
import type { Notice } from "../../shared/notice.ts";
import { answerLedgerCall } from "../../shared/ledger.ts";
import { createMemorySums } from "../../usage/memory_sums.ts";
import { createQuotaDesk } from "../../shared/quota_desk.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import type { Report } from "./messages.ts";
import type { Slot } from "./slot.ts";

/** What a {@linkcode PoolHub} works with. */
export interface PoolHubOptions {
  readonly store: ConfigStore;
  readonly fetch: QuotaFetch;
  readonly log: Log;
  /** What the process has in common with replicas. */
  readonly shared: SharedState;
  /** The threads; more may come. */
  readonly slots: readonly Slot[];
  readonly clock?: Clock;
}

/** What the threads of a process have in common by way of the main thread: what one learned, quotas and sums. */
export interface PoolHub {
  /** Takes what a thread reports; passes over what is about something else. */
  take(report: Report, from: Slot): void;
}

/** Connects the threads with each other and with replicas. */
export function createPoolHub(options: PoolHubOptions): PoolHub {
  const { store, slots, shared, clock = systemClock } = options;
  const poller = createPoller({
    fetch: options.fetch,
    log: options.log,
    clock,
    sharedReadings: shared.sharedReadings,
    onRead: ({ id: connectionId }, { reading, ttlMs }) =>
      tell({ kind: "polled", connectionId, reading: toPlain(reading), ttlMs }),
  });
  const desk = createQuotaDesk({ store, poller, clock });
  const sums = shared.sums ?? createMemorySums(clock);

  function tell(notice: Notice, teller?: Slot): void {
    for (const slot of slots) {
      if (slot !== teller) slot.send({ kind: "notice", notice });
    }
  }

  async function answer(connectionId: string, slot: Slot): Promise<void> {
    const told = await desk.read(connectionId);
    slot.send({ kind: "quota", connectionId, told });
  }

  async function answerLedger(
    { id, call }: Extract<Report, { kind: "ledger" }>,
    slot: Slot,
  ): Promise<void> {
    const reply = await answerLedgerCall(call, sums);
    slot.send({ kind: "ledger", id, reply });
  }

  shared.notices?.onHear((notice) => {
    followNotice(notice, { poller }, store.current());
    tell(notice);
  });
  return {
    take(report, from) {
      if (report.kind === "ledger") answerLedger(report, from);
      if (report.kind === "quota") answer(report.connectionId, from);
      if (report.kind !== "notice") return;
      shared.notices?.tell(report.notice);
      tell(report.notice, from);
    },
  };
}
