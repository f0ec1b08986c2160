import { LinkedList } from "../collections.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** Takes a deadline back; does nothing when it has passed. */
export type Cancel = () => void;

/** Many deadlines at the price of one timer. */
export interface Deadlines {
  /** Milliseconds on the clock that the deadlines go by; it never jumps. */
  elapsedMs(): number;
  /**
   * Calls `onPassed` once `ms` milliseconds have gone by, unless it is taken back before.
   *
   * @param ms More than 0 and at most 24 days; 0 means no deadline, and `onPassed` is never called.
   * @param sinceMs What {@linkcode Deadlines.elapsedMs} has just said, for those who asked it anyway; default: it is asked.
   */
  start(ms: number, onPassed: () => void, sinceMs?: number): Cancel;
}

/** A deadline that is running. */
interface Entry {
  readonly dueMs: number;
  readonly onPassed: () => void;
}

/** Deadlines of one length in milliseconds, which pass in the order in which they began. */
type Queues = Map<number, LinkedList<Entry>>;

const NOTHING: Cancel = () => {};

/**
 * No deadline is running yet. While some are, there is one timer, which is not set again for each that is taken back;
 * while none is, there is no timer either, unless one may ring for nobody.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const deadlines = createDeadlines();
 * const passed: string[] = [];
 * const cancel = deadlines.start(60_000, () => passed.push("minute"));
 * cancel();
 * await new Promise<void>((resolve) => deadlines.start(1, resolve));
 * assert.deepEqual(passed, []);
 * ```
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
    stopTimer = timers.schedule(delayMs, pass);
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
      while (next !== undefined && next.entry.dueMs <= nowMs) {
        next.queue.shift();
        next.entry.onPassed();
        next = earliest(queues);
      }
    } finally {
      tidy();
      next = earliest(queues);
      if (next !== undefined) arm(next.entry.dueMs);
    }
  }

  function queueOf(ms: number): LinkedList<Entry> {
    const known = queues.get(ms);
    if (known !== undefined) return known;
    const queue = new LinkedList<Entry>();
    queues.set(ms, queue);
    return queue;
  }

  /** Some lengths come once only; most come again soon, so that it is not done for each deadline. */
  function tidy(): void {
    for (const [ms, queue] of queues) {
      if (queue.size === 0) queues.delete(ms);
    }
  }

  return {
    elapsedMs: timers.elapsedMs,
    start(ms, onPassed, sinceMs = timers.elapsedMs()) {
      if (ms === 0) return NOTHING;
      const dueMs = sinceMs + ms;
      const takeOut = queueOf(ms).add({ dueMs, onPassed });
      arm(dueMs);
      return timers.mayRingForNobody ? takeOut : () => {
        takeOut();
        tidy();
        if (queues.size === 0) disarm();
      };
    },
  };
}

/** A deadline and where it stands. */
interface Next {
  readonly queue: LinkedList<Entry>;
  readonly entry: Entry;
}

/** The deadline that passes next; of those that pass at once, one of the length that began first. */
function earliest(queues: Queues): Next | undefined {
  let found: Next | undefined;
  for (const queue of queues.values()) {
    const entry = queue.first;
    if (entry !== undefined && entry.dueMs < (found?.entry.dueMs ?? Infinity)) {
      found = { queue, entry };
    }
  }
  return found;
}

/** How a wait is timed, and what ends it early. */
interface WaitOptions {
  readonly deadlines: Deadlines;
  readonly signal: AbortSignal;
}

/**
 * Waits.
 *
 * @param ms 0 or more, in milliseconds.
 * @throws The signal's reason as soon as it aborts.
 */
export async function wait(
  ms: number,
  { deadlines, signal }: WaitOptions,
): Promise<void> {
  signal.throwIfAborted();
  if (ms === 0) return;
  const over = Promise.withResolvers<void>();
  const cancel = deadlines.start(ms, over.resolve);
  await settled(over, signal, cancel);
}

/**
 * Waits for what somebody will settle. An abort of the signal settles it with the signal's reason, and calls `leave` at
 * once, so that nothing is given to who has left; what was given before counts.
 */
export async function settled<Value>(
  { promise, reject }: PromiseWithResolvers<Value>,
  signal: AbortSignal,
  leave: () => void,
): Promise<Value> {
  const stop = () => {
    leave();
    reject(signal.reason);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** How long work may take, and what comes in its place. */
interface WithinOptions<Late> {
  /** In milliseconds. */
  readonly ms: number;
  /** What times it: `start` of {@linkcode Deadlines}, or `schedule` of {@linkcode Timers}. */
  readonly start: (ms: number, onPassed: () => void) => Cancel;
  /** Asked for the result once the time has gone by; what it throws is the result, too. */
  readonly onLate: () => Late;
}

/**
 * Waits for `work`, but only for a while. Work that is late goes on, and if it fails then, nobody hears of it. Work of
 * many steps is one call: a call for each step would keep what the step gives until the deadline.
 */
export function within<Value, Late>(
  work: Promise<Value>,
  { ms, start, onLate }: WithinOptions<Late>,
): Promise<Value | Late> {
  return new Promise((resolve, reject) => {
    const cancel = start(ms, () => Promise.try(onLate).then(resolve, reject));
    work.finally(cancel).then(resolve, reject);
  });
}

/**
 * Waits for `work`, but no longer than until `signal` aborts; the work itself goes on, and if it fails
 * after that, nobody hears of it.
 *
 * @throws The signal's reason when it aborts first, at once when it has aborted already.
 */
export function untilAbort<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
