import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import type { LiveConfig } from "../../../src/gateway/config/live_config.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { Clock, Timers } from "../../../src/base/time/timers.ts";
import type { Log } from "../../../src/gateway/observe/log.ts";
import { createPoller } from "../../../src/gateway/quotas/poller.ts";
import { toPlain } from "../../../src/gateway/quotas/reading.ts";
import type {
  RunningCounts,
  RunningCountsByKey,
} from "../../../src/gateway/relay/request/admission.ts";
import { createKeySets } from "../../../src/gateway/relay/identity/key_sets.ts";
import {
  answerCall,
  createMainKeySets,
  createMainReadings,
  createMainThread,
  createMainThreadClient,
} from "../../../src/gateway/shared/main_thread.ts";
import type { Notice } from "../../../src/gateway/shared/notice.ts";
import { RemoteSums } from "../../../src/gateway/shared/remote_sums.ts";
import type { SharedState } from "../../../src/gateway/shared/shared_state.ts";
import {
  createCountTable,
  createThreadCounts,
  emptyThread,
} from "../../../src/gateway/shared/thread_counts.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import type { VirtualTime } from "./time.ts";

/** The values of `src/gateway/process/threads/worker.ts`. */
const [GATHER_MS, WAIT_MS] = [20, 250];

/** The most threads that one process ever starts, with their replacements. */
const MAX_STARTS = 200;

/** A thread of a process, for its gateway. */
export interface SimulatedThread {
  readonly state: SharedState;
  /** Sends the remaining counts. */
  flush(): void;
  /** Ends the thread and removes its counts of running requests. */
  end(): void;
}

/**
 * A process whose threads are replicas. They count in shared memory and send each other notices. The main thread keeps
 * their sums and reads quotas for them, like `src/gateway/process/threads`.
 */
export class SimulatedProcess {
  /** The configuration of its main thread. */
  readonly liveConfig: LiveConfig;
  /** The time of a message between two threads, in milliseconds. */
  messageMs = 1;
  readonly #time: VirtualTime;
  readonly #main: ReturnType<typeof createMainThread>;
  readonly #table = createCountTable(MAX_STARTS, 1000);
  readonly #listeners = new Set<(notice: Notice) => void>();
  #starts = 0;

  constructor(
    { time, liveConfig, ...parts }: {
      readonly time: VirtualTime;
      readonly liveConfig: LiveConfig;
      readonly log: Log;
      readonly fetch: Fetch;
    },
  ) {
    this.#time = time;
    this.liveConfig = liveConfig;
    const deadlines = createDeadlines(time);
    const poller = createPoller({
      ...{ ...parts, clock: time },
      onRead: ({ id: connectionId }, { reading, ttlMs }) =>
        this.#broadcast({
          ...{ kind: "polled", connectionId, ttlMs },
          reading: toPlain(reading),
        }),
    });
    const keySets = createKeySets({ ...parts, clock: time, deadlines });
    liveConfig.onSwap(({ identity }) => keySets.retain(identity));
    const retain = () => poller.retain(liveConfig.current().connections);
    retain();
    liveConfig.onSwap(retain);
    const sums = createMemorySums(time);
    const clock = time;
    this.#main = createMainThread({ sums, poller, keySets, liveConfig, clock });
  }

  /** Starts a thread. @param clock Ends with the thread. */
  start(clock: Clock & Timers): SimulatedThread {
    const thread = this.#starts++;
    const table = this.#table;
    let hasEnded = false;
    const { main, take } = createMainThreadClient((call) =>
      this.#send(call, async (copy) => {
        const reply = await answerCall(this.#main, copy);
        this.#send(reply, (one) => hasEnded || take(one));
      })
    );
    const sums = new RemoteSums({
      ledger: { ...main, isAway: false },
      ...{ clock, deadlines: createDeadlines(clock), ids: randomIds },
      ...{ gatherMs: GATHER_MS, waitMs: WAIT_MS },
    });
    const listeners: ((notice: Notice) => void)[] = [];
    const hear = (notice: Notice) => {
      for (const listener of listeners) listener(notice);
    };
    this.#listeners.add(hear);
    const { running, memory } = createThreadCounts({ table, thread });
    return {
      state: {
        running: countedUntil(running, () => hasEnded),
        ...{ memory, sums, keySets: createMainKeySets(main) },
        sharedReadings: createMainReadings(main),
        notices: {
          publish: (notice) => {
            if (hasEnded) return;
            this.#broadcast(notice, hear);
          },
          onNotice: (listener) => void listeners.push(listener),
        },
      },
      flush: () => sums.resume(),
      end: () => {
        hasEnded = true;
        this.#listeners.delete(hear);
        emptyThread(table, thread);
      },
    };
  }

  /** Sends a notice to all threads but its sender. */
  #broadcast(notice: Notice, sender?: (notice: Notice) => void): void {
    this.#send(notice, (copy) => {
      for (const hear of this.#listeners) if (hear !== sender) hear(copy);
    });
  }

  /** Sends a copy of a message, as real threads do. */
  #send<Message>(message: Message, receive: (copy: Message) => void): void {
    const copy = structuredClone(message);
    this.#time.schedule(this.messageMs, () => receive(copy));
  }
}

/**
 * Counts nothing for a thread that has ended. In the simulation its code runs on while a body arrives, and nothing
 * would clear such counts.
 */
function countedUntil(
  { requests, callers, connections }: RunningCounts,
  hasEnded: () => boolean,
): RunningCounts {
  const takenUntil = (counts: RunningCountsByKey): RunningCountsByKey => ({
    take: (key, most) => hasEnded() ? undefined : counts.take(key, most),
  });
  return {
    requests: {
      add: (most) => !hasEnded() && requests.add(most),
      remove: () => requests.remove(),
    },
    callers: takenUntil(callers),
    connections: takenUntil(connections),
  };
}
