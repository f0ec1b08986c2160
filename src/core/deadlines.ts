/** Takes a deadline back; does nothing when it has passed. */
export type TakeBack = () => void;

/** Many deadlines at the price of a few timers. */
export interface Deadlines {
  /**
   * Calls `onPassed` once `ms` milliseconds have gone by, unless it is taken back before.
   *
   * @param ms More than 0; 0 means no deadline, and `onPassed` is never called.
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
  timer: ReturnType<typeof setTimeout> | undefined;
}

const NOTHING: TakeBack = () => {};

/** No deadline is running yet. While none is, there is no timer either. */
export function createDeadlines(): Deadlines {
  const queues = new Map<number, Queue>();

  function queueOf(ms: number): Queue {
    let queue = queues.get(ms);
    if (queue === undefined) {
      queue = { entries: new Set(), timer: undefined };
      queues.set(ms, queue);
    }
    return queue;
  }

  function drop(ms: number, { timer }: Queue): void {
    clearTimeout(timer);
    queues.delete(ms);
  }

  function arm(ms: number, queue: Queue): void {
    const [first] = queue.entries;
    if (first === undefined) return drop(ms, queue);
    const delayMs = Math.max(0, first.dueMs - performance.now());
    queue.timer = setTimeout(() => pass(ms, queue), delayMs);
  }

  function pass(ms: number, queue: Queue): void {
    const nowMs = performance.now();
    const passed: Entry[] = [];
    for (const entry of queue.entries) {
      if (entry.dueMs > nowMs) break;
      passed.push(entry);
      queue.entries.delete(entry);
    }
    arm(ms, queue);
    for (const { onPassed } of passed) onPassed();
  }

  return {
    start(ms, onPassed) {
      if (ms === 0) return NOTHING;
      const queue = queueOf(ms);
      const entry = { dueMs: performance.now() + ms, onPassed };
      queue.entries.add(entry);
      if (queue.timer === undefined) arm(ms, queue);
      return () => {
        const isLast = queue.entries.delete(entry) && queue.entries.size === 0;
        if (isLast) drop(ms, queue);
      };
    },
  };
}
