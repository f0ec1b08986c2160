import { ListenError } from "@gateway/http1/deno";
import { backoffMs } from "@gateway/base/time/backoff";
import type { Timers } from "@gateway/base/time/timers";
import type {
  Order,
  Report,
  StartOrder,
  StartThread,
  Thread,
} from "./messages.ts";

/** A slot in the pool. It holds one thread, and starts a replacement when this thread dies. */
export interface Slot {
  readonly isListening: boolean;
  /**
   * Resolves to the address of the first thread.
   *
   * @throws {ListenError} When the thread cannot listen, or dies before it listens.
   */
  readonly listening: Promise<string>;
  /** Resolves when the thread has stopped, or has died while stopping. */
  readonly stopped: Promise<void>;
  /** Sends an order to the thread, if there is one. */
  send(order: Order): void;
  /** Stops the thread without a replacement. */
  stop(): void;
  /** Ends the thread at once. */
  end(): void;
}

interface SlotOptions {
  readonly startThread: StartThread;
  readonly timers: Timers;
  /** Returns the order that starts a new thread. */
  startOrder(): StartOrder;
  /**
   * Receives the reports that the slot does not handle itself.
   *
   * @param reply Sends an order to the thread that reported, never to its replacement.
   */
  onReport(report: Report, reply: (order: Order) => void): void;
  /** Called when a thread died; a replacement starts after `retryMs` milliseconds. */
  onDied(error: string, retryMs: number): void;
}

/** The pauses before the replacement of a dead thread starts. */
const PAUSES = { firstMs: 1_000, mostMs: 30_000 };

/**
 * The age at which a thread counts as healthy, in milliseconds. When a healthy thread dies, the pauses start short
 * again.
 */
const HEALTHY_MS = 60_000;

/** Creates a slot and starts its first thread. */
export function createSlot(options: SlotOptions): Slot {
  const { startThread, timers } = options;
  const listening = Promise.withResolvers<string>();
  const stopped = Promise.withResolvers<void>();
  let thread: Thread | undefined;
  let isListening = false;
  let hasListened = false;
  let isStopping = false;
  let startedMs = 0;
  let failures = 0;
  let cancelRetry = () => {};

  function launch(): void {
    startedMs = timers.elapsedMs();
    const own = startThread((report) => {
      if (own === thread) take(report, own.send);
    });
    thread = own;
    own.send(options.startOrder());
  }

  function take(report: Report, reply: Thread["send"]): void {
    switch (report.kind) {
      case "listening":
        isListening = true;
        hasListened = true;
        return listening.resolve(report.url);
      case "refused":
        return onEnded(new ListenError(report.message));
      case "died":
        return onEnded(
          new ListenError(
            `Cannot start: a thread ended before it listened (${report.error}).`,
          ),
          report.error,
        );
      case "stopped":
        isListening = false;
        return stopped.resolve();
      default:
        options.onReport(report, reply);
    }
  }

  function onEnded(cause: ListenError, error: string = cause.name): void {
    const wasHealthy = timers.elapsedMs() - startedMs >= HEALTHY_MS;
    thread?.end();
    thread = undefined;
    isListening = false;
    if (!hasListened) listening.reject(cause);
    if (isStopping || !hasListened) return stopped.resolve();
    failures = wasHealthy ? 1 : failures + 1;
    const retryMs = backoffMs(failures, PAUSES);
    options.onDied(error, retryMs);
    cancelRetry = timers.schedule(retryMs, launch);
  }

  launch();
  return {
    get isListening() {
      return isListening;
    },
    listening: listening.promise,
    stopped: stopped.promise,
    send: (order) => thread?.send(order),
    stop() {
      isStopping = true;
      cancelRetry();
      if (thread === undefined) stopped.resolve();
      else thread.send({ kind: "stop" });
    },
    end() {
      isStopping = true;
      cancelRetry();
      thread?.end();
      thread = undefined;
    },
  };
}
