import { backoffMs } from "@gateway/base/time/backoff";
import { wait } from "@gateway/base/time/deadlines";
import type { Timers } from "@gateway/base/time/timers";

/** The pauses before a listener accepts again. */
const PAUSES = { firstMs: 100, mostMs: 2_000 };

/** Receives what happens to a listener. */
export interface ListenerLog {
  write(
    event: "listener_lost" | "listener_kept",
    fields: { readonly reason: string },
  ): void;
  write(
    event: "listening_again" | "listener_renewed",
    fields: Record<never, never>,
  ): void;
}

/** How the sockets of a listener are handled. */
export interface AcceptTerms<Socket> {
  /** Takes a socket. If the function returns a promise, the next socket is accepted once the promise resolves. */
  readonly onSocket: (socket: Socket) => Promise<void> | void;
  /** Called each time that the platform fails to accept a socket; default: nothing happens. */
  readonly onShortage?: (() => void) | undefined;
  readonly timers: Timers;
  readonly log?: ListenerLog | undefined;
}

/** A listener whose sockets are accepted. */
export interface Accepting {
  readonly addr: Deno.NetAddr;
  /** Stops accepting. */
  close(): Promise<void>;
}

/**
 * Accepts all sockets of a listener until it is closed. While the platform refuses to accept, usually for lack of
 * descriptors, connections wait for the next attempt.
 */
export function acceptAll<Socket extends object>(
  listener: Pick<Deno.Listener<Deno.Conn, Deno.NetAddr>, "addr" | "close"> & {
    accept(): Promise<Socket>;
  },
  { onSocket, onShortage, timers, log }: AcceptTerms<Socket>,
): Accepting {
  const closing = new AbortController();
  const { signal } = closing;

  async function accept(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const socket = await listener.accept();
        if (failures > 0) log?.write("listening_again", {});
        failures = 0;
        sendAtOnce(socket);
        const room = onSocket(socket);
        if (room !== undefined) await room;
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
        // Rejects when the signal aborts. The loop then ends.
        await wait(backoffMs(failures, PAUSES), { deadlines, signal })
          .catch(() => {});
      }
    }
  }

  const accepting = accept();
  return {
    addr: listener.addr,
    close() {
      closing.abort();
      listener.close();
      return accepting;
    },
  };
}

/** Makes a socket send short parts of a response at once (no Nagle's algorithm), if the platform can. */
function sendAtOnce(socket: Partial<Pick<Deno.TcpConn, "setNoDelay">>): void {
  try {
    socket.setNoDelay?.();
  } catch {
    // The caller has left. The next read reports this.
  }
}

/** Returns true when accepting failed because a caller left before. */
function isOfOneCaller(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionAborted ||
    error instanceof Deno.errors.ConnectionReset;
}
