import type { Timers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import { type FragileListener, type Listener, ListenError } from "./listen.ts";

/** A listener that lasts until it is closed. */
export interface LastingListener extends Listener {
  /**
   * Listens again, as with another certificate. What is running goes on; new connections are accepted without a
   * pause where the platform lets two listeners share a port, and else after a short one.
   */
  renew(): void;
}

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

/**
 * Listens, and listens again where the platform gives up: when the process has no descriptor left for one more
 * connection, `Deno.serve` accepts none any more, not even when there are descriptors again. What it has
 * accepted goes on. Deno 2.9 tells at once that it gave up, Deno 2.7 only when its connections have ended.
 *
 * @throws {ListenError} As `open` does, the first time.
 */
export function keepListening(
  { open, log, timers }: KeepListeningOptions,
): LastingListener {
  const first = open();
  const { url, port } = first;
  let serving: FragileListener | undefined;
  let isClosed = false;
  let openedMs = timers.elapsedMs();
  let retryMs = RETRY_MS.first;
  let stopTimer = () => {};

  const retired = new Set<Promise<void>>();

  function watch(listener: FragileListener): void {
    serving = listener;
    listener.lost.then((reason) => {
      if (serving === listener) lose(reason);
    });
  }

  /** Accepts no more; what it has accepted ends in its own time. */
  function retire(listener: FragileListener): void {
    const closed = listener.close().finally(() => retired.delete(closed));
    retired.add(closed);
  }

  function renew(): void {
    const old = serving;
    // Where there is none, the next try opens it as it is to be.
    if (old === undefined || isClosed) return;
    try {
      watch(open(port));
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      if (!(error.cause instanceof Deno.errors.AddrInUse)) {
        return log.write("listener_kept", { reason: error.message });
      }
      serving = undefined;
      retire(old);
      return retry();
    }
    retire(old);
    log.write("listener_renewed", {});
  }

  function lose(reason: unknown): void {
    serving = undefined;
    if (isClosed) return;
    log.write("listener_lost", {
      reason: reason instanceof Error ? reason.message : "unknown",
    });
    if (timers.elapsedMs() - openedMs >= HEALTHY_MS) retryMs = RETRY_MS.first;
    retry();
  }

  function retry(): void {
    stopTimer = timers.ring(retryMs, reopen);
    retryMs = Math.min(2 * retryMs, RETRY_MS.most);
  }

  function reopen(): void {
    try {
      watch(open(port));
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      return retry();
    }
    openedMs = timers.elapsedMs();
    log.write("listening_again", {});
  }

  watch(first);
  return {
    url,
    async close() {
      isClosed = true;
      stopTimer();
      await Promise.all([serving?.close(), ...retired]);
    },
    renew,
  };
}
