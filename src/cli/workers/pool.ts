import type { Timers } from "../../core/time/timers.ts";
import type { LogFormat } from "../../observe/log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import { createPoolMetrics } from "./pool_metrics.ts";
import type { Serving, ServingOptions } from "../server/serving.ts";
import { createSlot, type Slot } from "./slot.ts";
import type { Report, StartThread } from "./messages.ts";
import { createColumnBook } from "../../shared/columns.ts";
import { createCountTable, emptyThread } from "../../shared/count_table.ts";
import { createPoolHub } from "./pool_hub.ts";

/** What a pool serves, and with what. */
export interface PoolOptions
  extends
    Pick<ServingOptions, "store" | "server" | "log" | "fetch" | "shared"> {
  /** How many threads serve. */
  readonly workers: number;
  readonly startThread: StartThread;
  readonly timers: Timers;
  readonly format: LogFormat;
  /** Takes whole lines of the threads' logs. */
  readonly write: (text: string) => void;
}

/** How much longer than `drain_seconds` threads may take to stop, in milliseconds. */
const GRACE_MS = 3_000;

/**
 * Serves from several threads that share one port. Each builds a gateway of its own; what they count together, so
 * that every limit holds for all of them, is in memory that they share. A new configuration reaches them all.
 *
 * @throws {ListenError} When a thread cannot listen; none is left then.
 */
export async function startPool(options: PoolOptions): Promise<Serving> {
  const { store, server, workers, timers, log } = options;
  const slots: Slot[] = [];
  const metrics = createPoolMetrics({ timers, fold });
  const table = createCountTable(workers);
  const book = createColumnBook(table);
  let columns = book.assign(store.current());
  const hub = createPoolHub({
    ...options,
    slots,
    shared: options.shared ?? {},
  });
  let place = server;
  /** A thread that replaces another has the certificate of now. */
  const currentPlace = () => ({
    ...place,
    tls: place.tls && (store.current().server.tls ?? place.tls),
  });
  let replacements = 0;
  let isStopping = false;

  function addSlot(): Slot {
    const thread = slots.length;
    const slot = createSlot({
      startThread: options.startThread,
      timers,
      startOrder() {
        // Its predecessor may have counted on while it was ended.
        emptyThread(table, thread);
        return {
          kind: "start",
          config: store.current(),
          server: currentPlace(),
          format: options.format,
          share: { table, thread, columns },
          sharedStore: options.shared?.store?.(),
        };
      },
      onReport: (report) => take(report, slot),
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

  function take(report: Report, slot: Slot): void {
    switch (report.kind) {
      case "log":
        return options.write(report.text);
      case "collected":
        return metrics.answer(slot, report.id, report.snapshots);
      default:
        return hub.take(report, slot);
    }
  }

  async function stop(hurry: Promise<void>): Promise<void> {
    isStopping = true;
    for (const slot of slots) slot.stop();
    hurry.then(() => {
      for (const slot of slots) slot.send({ kind: "hurry" });
    });
    const late = Promise.withResolvers<void>();
    const waitMs = store.current().server.drainMs + GRACE_MS;
    const stopTimer = timers.ring(waitMs, late.resolve);
    const stopped = Promise.all(slots.map((slot) => slot.stopped));
    await Promise.race([stopped, late.promise]);
    stopTimer();
    for (const slot of slots) slot.end();
  }

  try {
    const url = await addSlot().listening;
    // The port may have been 0; the others join the first.
    place = { ...server, port: portOf(url) };
    while (slots.length < workers) addSlot();
    await Promise.all(slots.map(({ listening }) => listening));
    store.onSwap((config) => {
      columns = book.assign(config);
      for (const slot of slots) slot.send({ kind: "config", config, columns });
    });
    return {
      url,
      workers,
      replacements: () => replacements,
      isReady: () => !isStopping && slots.some((slot) => slot.isListening),
      sharedStore: options.shared?.store,
      snapshots: () => metrics.collect(slots),
      stop,
    };
  } catch (error) {
    for (const slot of slots) slot.end();
    throw error;
  }
}

/** The client library is loaded only when a thread has died. */
async function fold(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const { foldCounters } = await import("../../observe/exposition.ts");
  return await foldCounters(snapshots);
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
