import type { Cancel, Deadlines } from "../core/time/deadlines.ts";

/**
 * Opens a connection to the host of an address and closes it. Rejects when it cannot be opened, or when
 * the signal aborts.
 */
export type Reach = (url: string, signal: AbortSignal) => Promise<void>;

/** A request that wants to be sent. */
interface Connecting {
  readonly url: string;
  /** How long the connection may take, in milliseconds; 0 means forever. */
  readonly withinMs: number;
  /** As {@linkcode Deadlines.start} takes it. */
  readonly sinceMs?: number | undefined;
  /** Called at most once, when that has passed without a sign of the host. */
  readonly onUnreachable: () => void;
}

/** Tells a host that cannot be connected to from one that takes its time to answer. */
export interface ConnectWatch {
  /** Begins to watch a request that is being sent. */
  start(connecting: Connecting): Cancel;
  /** A host has answered. */
  noteReached(url: string): void;
}

/** What a {@linkcode ConnectWatch} works with. */
interface ConnectWatchOptions {
  /** `undefined` where a connection of our own would prove nothing, as behind a proxy. */
  readonly reach: Reach | undefined;
  readonly deadlines: Deadlines;
}

const NOTHING: Cancel = () => {};

/**
 * `fetch` has no deadline for the connection alone. So a request that has no answer after half of it, and
 * whose host has not been heard of since, is put to the proof: a connection of our own, which has the other
 * half. A request that is answered sooner costs nothing but a deadline; of many to one host, one is put to the
 * proof at a time, for all.
 */
export function createConnectWatch(
  { reach, deadlines }: ConnectWatchOptions,
): ConnectWatch {
  let begun = 0;
  /** How many requests had begun when an address was last heard of; the configuration names few. */
  const begunWhenReached = new Map<string, number>();
  const proofs = new Map<string, Promise<boolean>>();

  async function prove(reach: Reach, { url, withinMs }: Connecting) {
    const late = new AbortController();
    const cancel = deadlines.start(withinMs / 2, () => late.abort());
    try {
      await reach(url, late.signal);
      noteReached(url);
      return true;
    } catch {
      // What fails at once fails at once for `fetch` too, which says why.
      return !late.signal.aborted;
    } finally {
      cancel();
      proofs.delete(url);
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
        const proof = proofs.get(url) ?? prove(reach, connecting);
        proofs.set(url, proof);
        if (!await proof && !isOver) onUnreachable();
      }, sinceMs);
      return () => {
        isOver = true;
        cancel();
      };
    },
  };
}
