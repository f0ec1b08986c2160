import type { Timers } from "../core/timers.ts";
import type { Log } from "../observe/log.ts";
import { type FragileListener, type Listener, ListenError } from "./listen.ts";

/** What {@linkcode keepListening} works with. */
export interface KeepListeningOptions {
  /** Listens at the same place again; default of the port: a free one. */
  readonly open: (port?: number) => FragileListener;
  readonly log: Log;
  readonly timers: Timers;
}

/** The pause before listening again, in milliseconds; it doubles while that does not last. */
const RETRY_MS = { first: 100, most: 2_000 };

/** What listened for so long was well: the next pause is short again. */
const HEALTHY_MS = 10_000;

/** How often is looked whether connections are taken, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * Listens, and listens again where the platform gives up: when the process has no descriptor left for one more
 * connection, `Deno.serve` accepts none any more, not even when there are descriptors again. What it has
 * accepted goes on. Deno 2.9 tells that it gave up, Deno 2.7 only once all its connections have ended, so the
 * port is looked at, too.
 *
 * @throws {ListenError} As `open` does, the first time.
 */
export function keepListening(
  { open, log, timers }: KeepListeningOptions,
): Listener {
  let current = open();
  const { url, port } = current;
  const serving = new Set([current]);
  let isClosed = false;
  let isLost = false;
  let openedMs = timers.elapsedMs();
  let retryMs = RETRY_MS.first;
  let stopTimer = () => {};

  /** Runs `work` after so long, in place of what was to be done next. */
  function later(ms: number, work: () => void): void {
    if (isClosed) return;
    stopTimer();
    stopTimer = timers.ring(ms, work);
  }

  function watch(listener: FragileListener): void {
    listener.lost.then((reason) => {
      serving.delete(listener);
      if (listener === current) lose(reason);
    });
    later(LOOK_MS, () => look(listener));
  }

  async function look(listener: FragileListener): Promise<void> {
    const isRefusing = await listener.isRefusing();
    if (isClosed || listener !== current) return;
    if (isRefusing) lose(new Error("connections are refused"));
    else later(LOOK_MS, () => look(listener));
  }

  function lose(reason: unknown): void {
    if (isClosed || isLost) return;
    isLost = true;
    log.write("error", "listener_lost", {
      reason: reason instanceof Error ? reason.message : "unknown",
    });
    if (timers.elapsedMs() - openedMs >= HEALTHY_MS) retryMs = RETRY_MS.first;
    retry();
  }

  function retry(): void {
    later(retryMs, reopen);
    retryMs = Math.min(2 * retryMs, RETRY_MS.most);
  }

  function reopen(): void {
    try {
      current = open(port);
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      return retry();
    }
    serving.add(current);
    isLost = false;
    openedMs = timers.elapsedMs();
    log.write("info", "listening_again", {});
    watch(current);
  }

  watch(current);
  return {
    url,
    async close() {
      isClosed = true;
      stopTimer();
      await Promise.all([...serving].map((one) => one.close()));
    },
  };
}
