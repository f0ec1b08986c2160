import { systemClock } from "../../core/time/clock.ts";
import { createDeadlines } from "../../core/time/deadlines.ts";
import { randomIds } from "../../core/ids.ts";
import type { Columns } from "../../shared/columns.ts";
import type { Notice } from "../../shared/notice.ts";
import {
  createRemotePoller,
  type RemoteReading,
} from "../../shared/remote_poller.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import { createThreadLedger, type LedgerReply } from "../../shared/ledger.ts";
import { createRemoteSums } from "../../shared/remote_sums.ts";
import { createThreadCounts } from "../../shared/thread_counts.ts";
import type { Report, StartOrder } from "./messages.ts";

/** What a thread has in common with the others, and how the pool's orders reach it. */
export interface SharedThread {
  readonly state: SharedState;
  /** Takes what another gateway learned. */
  hear(notice: Notice): void;
  /** Takes the quota of a connection that the thread asked for. */
  answer(connectionId: string, told: RemoteReading): void;
  /** Takes the reply to a call of the ledger. */
  takeReply(id: string, reply: LedgerReply): void;
  /** Sends what was counted; call it when nothing more will be. */
  flush(): void;
  /** Goes by the columns of another configuration. */
  adopt(columns: Columns): void;
}

/** Additions are gathered for so long before the main thread is told, in milliseconds. */
const GATHER_MS = 20;

/**
 * No request waits longer for the main thread, in milliseconds. That one waits for a store no longer than a request
 * may, so that only a machine with far too much to do lets a thread decide by what it knows itself.
 */
const WAIT_MS = 250;

/** Connects a thread with the others by way of the pool. */
export function createSharedThread(
  { share, sharedStore }: Pick<StartOrder, "share" | "sharedStore">,
  report: (one: Report) => void,
): SharedThread {
  const counts = createThreadCounts(share);
  const listeners: ((notice: Notice) => void)[] = [];
  let condition = sharedStore;
  const asked = new Map<string, PromiseWithResolvers<RemoteReading>>();

  function ask(connectionId: string): Promise<RemoteReading> {
    const running = asked.get(connectionId);
    if (running !== undefined) return running.promise;
    const waiting = Promise.withResolvers<RemoteReading>();
    asked.set(connectionId, waiting);
    report({ kind: "quota", connectionId });
    return waiting.promise;
  }

  const ledger = createThreadLedger(
    randomIds.next("thread"),
    (id, call) => report({ kind: "ledger", id, call }),
  );
  const sums = createRemoteSums({
    ledger: ledger.ledger,
    clock: systemClock,
    deadlines: createDeadlines(),
    ids: randomIds,
    gatherMs: GATHER_MS,
    waitMs: WAIT_MS,
  });

  return {
    state: {
      sums,
      running: counts.running,
      memory: counts.memory,
      notices: {
        tell: (notice) => report({ kind: "notice", notice }),
        onHear: (listener) => void listeners.push(listener),
      },
      poller: createRemotePoller({ clock: systemClock, ask }),
      store: condition && (() => condition ?? "away"),
    },
    hear(notice) {
      if (notice.kind === "store") {
        condition = notice.isAway ? "away" : "connected";
      }
      for (const listener of listeners) listener(notice);
    },
    answer(connectionId, told) {
      asked.get(connectionId)?.resolve(told);
      asked.delete(connectionId);
    },
    takeReply: ledger.take,
    flush: sums.resume,
    adopt: counts.adopt,
  };
}
