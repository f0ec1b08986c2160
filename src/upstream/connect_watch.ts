import type { Cancel, Deadlines } from "../core/time/deadlines.ts";

/** Opens a connection to the host of a URL and closes it. Rejects when it cannot connect, or when the signal aborts. */
export type Reach = (url: string, signal: AbortSignal) => Promise<void>;

/** A request that is about to be sent. */
interface Connecting {
  readonly url: string;
  /** The timeout of the connection, in milliseconds; 0 means none. */
  readonly withinMs: number;
  /** The start time, as in {@linkcode Deadlines.start}. */
  readonly sinceMs?: number | undefined;
  /** Called at most once, when the timeout passes without a response from the host. */
  readonly onUnreachable: () => void;
}

/** Distinguishes hosts that accept no connection from hosts that are slow to answer. */
export interface ConnectWatch {
  /** Starts to watch a request that is being sent. */
  start(connecting: Connecting): Cancel;
  /** Records that a host has answered. */
  noteReached(url: string): void;
}

/** The dependencies of a {@linkcode ConnectWatch}. */
interface ConnectWatchOptions {
  /** Tests a connection; `undefined` where that would prove nothing, as behind a proxy. */
  readonly reach: Reach | undefined;
  readonly deadlines: Deadlines;
}

const NOTHING: Cancel = () => {};

/**
 * Creates a watch, because `fetch` has no timeout for the connection alone. It acts when a request has no response
 * after half of the timeout, and its host has answered no later request. Then it opens a test connection, which gets
 * the other half of the timeout. All requests to a host share one test at a time. A request that is answered sooner
 * costs only a deadline.
 */
export function createConnectWatch(
  { reach, deadlines }: ConnectWatchOptions,
): ConnectWatch {
  let begun = 0;
  /** The number of requests that had begun when each URL last answered; the configuration has few URLs. */
  const begunWhenReached = new Map<string, number>();
  const probes = new Map<string, Promise<boolean>>();

  async function probeHost(reach: Reach, { url, withinMs }: Connecting) {
    const late = new AbortController();
    const cancel = deadlines.start(withinMs / 2, () => late.abort());
    try {
      await reach(url, late.signal);
      noteReached(url);
      return true;
    } catch {
      // When this fails at once, `fetch` does, too, and its error has the reason.
      return !late.signal.aborted;
    } finally {
      cancel();
      probes.delete(url);
    }
  }

  function noteReached(url: string): void {
    begunWhenReached.set(url, begun);
  }

  if (reach === undefined) return { start: () => NOTHING, noteReached() {} };
  return {
    noteReached,
    start(connecting) {
      const { url, withinMs, sinceMs, onUnreachable } = connecting;
      const number = ++begun;
      let isOver = false;
      const cancel = deadlines.start(withinMs / 2, async () => {
        if ((begunWhenReached.get(url) ?? 0) >= number) return;
        const probe = probes.get(url) ?? probeHost(reach, connecting);
        probes.set(url, probe);
        if (!await probe && !isOver) onUnreachable();
      }, sinceMs);
      return () => {
        isOver = true;
        cancel();
      };
    },
  };
}
