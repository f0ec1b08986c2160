import { systemTimers, type Timers } from "./timers.ts";

/** Takes a deadline back; does nothing when it has passed. */
export type TakeBack = () => void;

/** Many deadlines at the price of a few timers. */
export interface Deadlines {
  /** Milliseconds on the clock that the deadlines go by; it never jumps. */
  elapsedMs(): number;
  /**
   * Calls `onPassed` once `ms` milliseconds have gone by, unless it is taken back before.
   *
   * @param ms More than 0 and at most 24 days; 0 means no deadline, and `onPassed` is never called.
   */
  start(ms: number, onPassed: () => void): TakeBack;
}

/** A deadline that is running. */
interface Entry {
  readonly dueMs: number;
  readonly onPassed: () => void;
}

/** Deadlines of one length, which pass in the order in which they began: only the first needs a timer. */
interface Queue {
  readonly entries: Set<Entry>;
  stopTimer: () => void;
}

const NOTHING: TakeBack = () => {};

/** No deadline is running yet. While none is, there is no timer either. */
export function createDeadlines(timers: Timers = systemTimers): Deadlines {
  const queues = new Map<number, Queue>();

  function enqueue(ms: number, entry: Entry): Queue {
    const running = queues.get(ms);
    if (running !== undefined) {
      running.entries.add(entry);
      return running;
    }
    const queue = { entries: new Set([entry]), stopTimer: NOTHING };
    queues.set(ms, queue);
    arm(ms, queue);
    return queue;
  }

  function close(ms: number, queue: Queue): void {
    queue.stopTimer();
    if (queues.get(ms) === queue) queues.delete(ms);
  }

  function arm(ms: number, queue: Queue): void {
    const [first] = queue.entries;
    if (first === undefined) return close(ms, queue);
    const delayMs = Math.max(0, Math.ceil(first.dueMs - timers.elapsedMs()));
    queue.stopTimer = timers.ring(delayMs, () => pass(ms, queue));
  }

  /** What passes may start and take back others, those that are due now too. */
  function pass(ms: number, queue: Queue): void {
    const nowMs = timers.elapsedMs();
    try {
      for (const entry of queue.entries) {
        if (entry.dueMs > nowMs) break;
        queue.entries.delete(entry);
        entry.onPassed();
      }
    } finally {
      arm(ms, queue);
    }
  }

  return {
    elapsedMs: timers.elapsedMs,
    start(ms, onPassed) {
      if (ms === 0) return NOTHING;
      const entry = { dueMs: timers.elapsedMs() + ms, onPassed };
      const queue = enqueue(ms, entry);
      return () => {
        const isLast = queue.entries.delete(entry) && queue.entries.size === 0;
        if (isLast) close(ms, queue);
      };
    },
  };
}
