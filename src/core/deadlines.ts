import { systemTimers, type Timers } from "./timers.ts";

/** Takes a deadline back; does nothing when it has passed. */
export type TakeBack = () => void;

/** Many deadlines at the price of one timer. */
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
  /** Its length. */
  readonly ms: number;
  readonly dueMs: number;
  readonly onPassed: () => void;
}

/** Deadlines of one length in milliseconds, which pass in the order in which they began. */
type Queues = Map<number, Set<Entry>>;

const NOTHING: TakeBack = () => {};

/**
 * No deadline is running yet. While none is, there is no timer either; while some are, there is one, which is
 * not set anew for each that is taken back.
 */
export function createDeadlines(timers: Timers = systemTimers): Deadlines {
  const queues: Queues = new Map();
  let armedMs = Infinity;
  let stopTimer = NOTHING;

  function arm(dueMs: number): void {
    if (dueMs >= armedMs) return;
    stopTimer();
    armedMs = dueMs;
    const delayMs = Math.max(0, Math.ceil(dueMs - timers.elapsedMs()));
    stopTimer = timers.ring(delayMs, pass);
  }

  function disarm(): void {
    stopTimer();
    stopTimer = NOTHING;
    armedMs = Infinity;
  }

  /** What passes may start and take back others, those that are due now too. */
  function pass(): void {
    disarm();
    const nowMs = timers.elapsedMs();
    let next = earliest(queues);
    try {
      while (next !== undefined && next.dueMs <= nowMs) {
        remove(next);
        next.onPassed();
        next = earliest(queues);
      }
    } finally {
      next = earliest(queues);
      if (next !== undefined) arm(next.dueMs);
    }
  }

  function add(entry: Entry): void {
    const queue = queues.get(entry.ms);
    if (queue === undefined) queues.set(entry.ms, new Set([entry]));
    else queue.add(entry);
    arm(entry.dueMs);
  }

  function remove(entry: Entry): void {
    const queue = queues.get(entry.ms);
    queue?.delete(entry);
    if (queue?.size === 0) queues.delete(entry.ms);
  }

  return {
    elapsedMs: timers.elapsedMs,
    start(ms, onPassed) {
      if (ms === 0) return NOTHING;
      const entry = { ms, dueMs: timers.elapsedMs() + ms, onPassed };
      add(entry);
      return () => {
        remove(entry);
        if (queues.size === 0) disarm();
      };
    },
  };
}

/** The deadline that passes next; of those that pass at once, one of the length that began first. */
function earliest(queues: Queues): Entry | undefined {
  let found: Entry | undefined;
  for (const [first] of queues.values()) {
    if (first !== undefined && first.dueMs < (found?.dueMs ?? Infinity)) {
      found = first;
    }
  }
  return found;
}
