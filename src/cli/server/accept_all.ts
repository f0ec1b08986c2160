import { backoffMs } from "../../core/time/backoff.ts";
import { wait } from "../../core/time/deadlines.ts";
import type { Timers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";

/** The pauses after which a listener is tried again. */
const PAUSES = { firstMs: 100, mostMs: 2_000 };

interface AcceptOptions {
  readonly onSocket: (socket: Deno.TcpConn | Deno.TlsConn) => void;
  /** Called each time that the platform accepts nothing; default: nothing happens. */
  readonly onShortage?: (() => void) | undefined;
  /** Aborts before the listener is closed. */
  readonly signal: AbortSignal;
  readonly timers: Timers;
  readonly log?: Log | undefined;
}

/**
 * Accepts all sockets of a listener until it is closed. While the platform refuses, usually because the process has no
 * descriptor left, the connections wait for the next try.
 */
export async function acceptAll(
  listener: Pick<Deno.Listener<Deno.TcpConn | Deno.TlsConn>, "accept">,
  { onSocket, onShortage, signal, timers, log }: AcceptOptions,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      const socket = await listener.accept();
      if (failures > 0) log?.write("listening_again", {});
      failures = 0;
      sendAtOnce(socket);
      onSocket(socket);
    } catch (error) {
      if (signal.aborted) return;
      if (isOfOneCaller(error)) continue;
      failures += 1;
      onShortage?.();
      if (failures === 1) {
        log?.write("listener_lost", {
          reason: error instanceof Error ? error.message : "unknown",
        });
      }
      const deadlines = { start: timers.schedule };
      // Rejects when the signal aborts, which ends the loop.
      await wait(backoffMs(failures, PAUSES), { deadlines, signal })
        .catch(() => {});
    }
  }
}

/** Sends short parts of a response without a wait for more (Nagle's algorithm), where the platform lets it. */
function sendAtOnce(socket: Deno.TcpConn | Deno.TlsConn): void {
  try {
    if ("setNoDelay" in socket) socket.setNoDelay();
  } catch {
    // A caller who left already is noticed by the next read.
  }
}

/** Returns true for the failure of a caller who left before its connection was accepted. */
function isOfOneCaller(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionAborted ||
    error instanceof Deno.errors.ConnectionReset;
}
