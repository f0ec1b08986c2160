import type { Config } from "../../config/config.ts";
import type { Clock } from "../../core/time/clock.ts";
import { createDeadlines } from "../../core/time/deadlines.ts";
import type { Ids } from "../../core/ids.ts";
import type { Timers } from "../../core/time/timers.ts";
import { wait } from "../../core/time/wait.ts";
import { toPlain } from "../../limits/plain_reading.ts";
import type { Log } from "../../observe/log.ts";
import type { SharedState } from "../shared_state.ts";
import { createRemoteSums } from "../remote_sums.ts";
import type { OpenStore } from "./connection.ts";
import { createStoreLedger, LEDGER_SCRIPTS } from "./store_ledger.ts";
import { createStoreLink } from "./store_link.ts";
import { createStoreNotices } from "./store_notices.ts";
import { createStoreReadings, READING_SCRIPTS } from "./store_readings.ts";

/** What a process has in common with replicas, by way of a store. */
export interface StoreState {
  readonly state: SharedState;
  /** Sends what the store does not have yet, for a few seconds at most, and ends the connection. */
  close(): Promise<void>;
}

/** What {@linkcode createStoreState} works with. */
export interface StoreStateOptions {
  readonly open: OpenStore;
  /** Before every key. */
  readonly prefix: string;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly ids: Ids;
  /** How long whoever asks waits for the store, in milliseconds; default 40. */
  readonly waitMs?: number;
}

/** No request waits longer for the store, in milliseconds. With what the process itself needs it stays below 50. */
const WAIT_MS = 40;

/** Additions are gathered for so long before they are sent, in milliseconds. */
const GATHER_MS = 100;

/** How long an end waits for the store to take what it does not have yet, in milliseconds. */
const CLOSE_MS = 5000;

/** Connects a process with the store; nothing waits for that. */
export function createStoreState(options: StoreStateOptions): StoreState {
  const { open, prefix, config, clock, log, waitMs = WAIT_MS } = options;
  const id = options.ids.next("replica");
  const deadlines = createDeadlines(options.timers);
  const probeKey = `${prefix}probe`;
  const scripts = [...LEDGER_SCRIPTS, ...READING_SCRIPTS];
  const link = createStoreLink({
    ...{ open, probeKey, deadlines, log, waitMs, scripts },
  });
  const sums = createRemoteSums({
    ...{ clock, deadlines, ids: options.ids },
    ledger: createStoreLedger({ link, prefix, clock }),
    gatherMs: GATHER_MS,
    waitMs,
  });
  const notices = createStoreNotices({ link, prefix, id, config, deadlines });
  const sharedReadings = createStoreReadings({
    ...{ link, prefix, id, deadlines, waitMs },
    onPublished: ({ id: connectionId }, { reading, ttlMs }) =>
      notices.tell({
        ...{ kind: "polled", connectionId, ttlMs },
        reading: toPlain(reading),
      }),
  });
  link.onChange((isAway) => {
    if (!isAway) sums.resume();
  });

  async function settle(): Promise<void> {
    const untilMs = deadlines.elapsedMs() + CLOSE_MS;
    const { signal } = new AbortController();
    sums.resume();
    while (!sums.isSettled && deadlines.elapsedMs() < untilMs) {
      await wait(10, { deadlines, signal });
    }
  }

  return {
    state: {
      ...{ sums, notices, sharedReadings },
      store: () => link.isAway ? "away" : "connected",
    },
    async close() {
      await settle();
      sums.close();
      notices.close();
      link.close();
    },
  };
}
