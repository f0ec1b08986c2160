import { portOf } from "@gateway/base/safe_url";
import { createDeadlines, within } from "@gateway/base/time/deadlines";
import { systemClock, type Timers } from "@gateway/base/time/timers";
import { toPlain } from "../../quotas/reading.ts";
import { createPoller } from "../../quotas/poller.ts";
import type { LogOutputFormat } from "../log/open_log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import { createKeySets } from "../../relay/identity/key_sets.ts";
import {
  answerCall,
  type Call,
  createMainThread,
} from "../../shared/main_thread.ts";
import { followNotice, type Notice } from "../../shared/notice.ts";
import { SHORTAGE_MS } from "../../relay/routing/health.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import { createCountTable, emptyThread } from "../../shared/thread_counts.ts";
import { createMemorySums } from "../../usage/memory_sums.ts";
import type { Serving, ServingOptions } from "../serving.ts";
import type { Order, Report, StartThread } from "./messages.ts";
import { createSlot, type Slot } from "./slot.ts";

interface PoolOptions
  extends
    Pick<ServingOptions, "liveConfig" | "server" | "log" | "fetch" | "shared"> {
  /** The number of threads. */
  readonly workers: number;
  readonly startThread: StartThread;
  readonly timers: Timers;
  readonly format: LogOutputFormat;
  /** Writes whole lines of the threads' logs. */
  readonly write: (text: string) => void;
}

/** The extra time for threads to stop after `drain_seconds`, in milliseconds. */
const GRACE_MS = 3_000;

/**
 * Serves from several threads that share one port. Each thread runs its own gateway. The counts for limits are in
 * shared memory, so that each limit applies to all threads together. A new configuration goes to all threads.
 *
 * @throws {ListenError} When a thread cannot listen; no thread is left running.
 */
export async function startPool(options: PoolOptions): Promise<Serving> {
  const { liveConfig, server, workers, timers, log } = options;
  const slots: Slot[] = [];
  const metrics = createPoolMetrics(timers);
  const table = createCountTable(workers);
  const hub = createPoolHub({
    ...options,
    slots,
    shared: options.shared ?? {},
  });
  let place = server;
  /** Returns the listener's settings for a new thread, with the current certificate. */
  const currentPlace = () => ({
    ...place,
    tls: place.tls && (liveConfig.current().server.tls ?? place.tls),
  });
  let replacements = 0;
  let isStopping = false;

  function addSlot(): Slot {
    const thread = slots.length;
    const slot = createSlot({
      startThread: options.startThread,
      timers,
      startOrder() {
        // The previous thread of the slot may have left counts.
        emptyThread(table, thread);
        return {
          kind: "start",
          config: liveConfig.current(),
          server: currentPlace(),
          format: options.format,
          share: { table, thread },
          sharedStore: options.shared?.store?.(),
        };
      },
      onReport: (report, reply) => take(report, { slot, reply }),
      onDied(error, retryMs) {
        replacements += 1;
        emptyThread(table, thread);
        metrics.retire(slot);
        log.write("worker_died", {
          worker: thread + 1,
          exception: error,
          retry_ms: retryMs,
        });
      },
    });
    slots.push(slot);
    return slot;
  }

  function take(report: Report, from: Sender): void {
    switch (report.kind) {
      case "log":
        return options.write(report.text);
      case "collected":
        return metrics.answer(from.slot, report.id, report.snapshots);
      case "key_refused":
        return options.shared?.onKeyRefused?.(report.connectionId);
      default:
        return hub.take(report, from);
    }
  }

  async function stop(hurry: Promise<void>): Promise<void> {
    isStopping = true;
    for (const slot of slots) slot.stop();
    hurry.then(() => {
      for (const slot of slots) slot.send({ kind: "hurry" });
    });
    await within(Promise.all(slots.map((slot) => slot.stopped)), {
      ms: liveConfig.current().server.drainMs + GRACE_MS,
      start: timers.schedule,
      onLate: () => {},
    });
    for (const slot of slots) slot.end();
  }

  // This happens before the first thread starts: threads get a configuration that changes while others start.
  liveConfig.onSwap((config) => {
    for (const slot of slots) slot.send({ kind: "config", config });
  });
  try {
    const url = await addSlot().listening;
    // The configured port may be 0. The other threads share the port that the first thread got.
    place = { ...server, port: portOf(url) };
    while (slots.length < workers) addSlot();
    await Promise.all(slots.map(({ listening }) => listening));
    return {
      url,
      workers,
      replacements: () => replacements,
      isReady: () => !isStopping && slots.some((slot) => slot.isListening),
      hasShortage: hub.hasShortage,
      sharedStore: options.shared?.store,
      snapshots: () => metrics.collect(slots),
      stop,
    };
  } catch (error) {
    for (const slot of slots) slot.end();
    throw error;
  }
}

/** Sums the counters of snapshots. The library is loaded here, because only a dead thread makes it necessary. */
async function fold(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const { foldCounters } = await import("../../observe/exposition.ts");
  return await foldCounters(snapshots);
}

interface PoolHubOptions
  extends Pick<PoolOptions, "liveConfig" | "fetch" | "log" | "timers"> {
  /** The state that the process shares with replicas. */
  readonly shared: SharedState;
  /** The slots of the threads; the list may grow. */
  readonly slots: readonly Slot[];
}

/** The sender of a report. */
interface Sender {
  readonly slot: Slot;
  /** Sends an order to the sending thread, never to its replacement. */
  reply(order: Order): void;
}

/** Passes notices, quotas, keys of identity providers and sums between the threads, and to and from replicas. */
function createPoolHub(options: PoolHubOptions) {
  const { liveConfig, slots, shared, timers } = options;
  const clock = systemClock;
  const poller = createPoller({
    fetch: options.fetch,
    log: options.log,
    clock,
    sharedReadings: shared.sharedReadings,
    onRead: ({ id: connectionId }, { reading, ttlMs }) =>
      broadcast({
        kind: "polled",
        connectionId,
        reading: toPlain(reading),
        ttlMs,
      }),
  });
  const keySets = createKeySets({
    fetch: options.fetch,
    log: options.log,
    clock,
    deadlines: createDeadlines(timers),
  });
  liveConfig.onSwap(({ identity }) => keySets.retain(identity));
  const retain = () => poller.retain(liveConfig.current().connections);
  retain();
  liveConfig.onSwap(retain);
  const sums = shared.sums ?? createMemorySums(clock);
  const main = createMainThread({ sums, poller, keySets, liveConfig, clock });
  let shortageUntilMs = -Infinity;

  function broadcast(notice: Notice, sender?: Slot): void {
    for (const slot of slots) {
      if (slot !== sender) slot.send({ kind: "notice", notice });
    }
  }

  async function answer(call: Call, { reply }: Sender): Promise<void> {
    reply({ kind: "reply", reply: await answerCall(main, call) });
  }

  shared.notices?.onNotice((notice) => {
    followNotice(notice, { poller }, liveConfig.current());
    broadcast(notice);
  });
  return {
    /** Handles the calls and notices of a thread; ignores other reports. */
    take(report: Report, from: Sender): void {
      if (report.kind === "call") answer(report.call, from);
      if (report.kind !== "notice") return;
      const { notice } = report;
      if (notice.kind === "shortage") {
        shortageUntilMs = timers.elapsedMs() + SHORTAGE_MS;
      }
      shared.notices?.publish(notice);
      broadcast(notice, from.slot);
    },
    /** Returns true when an attempt of the last minute failed because this machine lacked resources. */
    hasShortage: () => timers.elapsedMs() < shortageUntilMs,
  };
}

/** The timeout for the threads' snapshots, in milliseconds; shorter than the timeout of a scrape. */
const ANSWER_MS = 2_000;

/** Collects the metrics of all threads. */
function createPoolMetrics(timers: Timers) {
  const latest = new Map<Slot, readonly Snapshot[]>();
  const pending = new Map<number, { missing: Set<Slot>; done: () => void }>();
  let retired: Promise<readonly Snapshot[]> = Promise.resolve([]);
  let lastId = 0;

  function settle(id: number, slot: Slot): void {
    const collection = pending.get(id);
    collection?.missing.delete(slot);
    if (collection?.missing.size === 0) collection.done();
  }

  async function requestAll(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const id = ++lastId;
    const answered = Promise.withResolvers<void>();
    pending.set(id, { missing: new Set(slots), done: answered.resolve });
    for (const slot of slots) slot.send({ kind: "collect", id });
    await within(answered.promise, {
      ms: ANSWER_MS,
      start: timers.schedule,
      onLate: () => {},
    });
    pending.delete(id);
  }

  return {
    /** Collects the metrics of all listening threads. For a late thread, returns the thread's last snapshot. */
    async collect(slots: readonly Slot[]): Promise<readonly Snapshot[]> {
      await requestAll(slots.filter(({ isListening }) => isListening));
      return [...await retired, ...[...latest.values()].flat()];
    },
    /** Accepts the snapshots of a thread. */
    answer(slot: Slot, id: number, snapshots: readonly Snapshot[]): void {
      if (snapshots.length > 0) latest.set(slot, snapshots);
      settle(id, slot);
    },
    /** Keeps the counters of a dead thread, so that no sum decreases. */
    retire(slot: Slot): void {
      const last = latest.get(slot) ?? [];
      latest.delete(slot);
      for (const id of [...pending.keys()]) settle(id, slot);
      if (last.length === 0) return;
      const before = retired;
      retired = before.then(async (gone) => [await fold([...gone, ...last])]);
    },
  };
}
