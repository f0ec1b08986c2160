import { LinkedList } from "../collections.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** Cancels a deadline; has no effect after it has passed. */
export type Cancel = () => void;

/** Many deadlines at the cost of one timer. */
export interface Deadlines {
  /** Returns milliseconds on the monotonic clock of the deadlines. */
  elapsedMs(): number;
  /**
   * Calls `onPassed` after `ms` milliseconds, unless the deadline is cancelled first.
   *
   * @param ms At most 24 days, or `Infinity` for no deadline. A deadline of 0 or less passes after a millisecond, so
   * that a deadline that restarts itself does not block the event loop.
   * @param sinceMs A value that {@linkcode Deadlines.elapsedMs} has just returned, to save a second read; default: the
   * clock is read.
   */
  start(ms: number, onPassed: () => void, sinceMs?: number): Cancel;
}

/** A deadline that is running. */
interface Entry {
  readonly dueMs: number;
  readonly onPassed: () => void;
}

/** Deadlines by their length in milliseconds. Deadlines of one length pass in the order in which they began. */
type Queues = Map<number, LinkedList<Entry>>;

const NOTHING: Cancel = () => {};

/** Returns the length of a deadline from a setting. In the setting, 0 means no deadline. */
export function orNever(ms: number): number {
  return ms === 0 ? Infinity : ms;
}

/**
 * Creates an empty set of deadlines. One timer serves all running deadlines and is not set again when a deadline is
 * cancelled. Without deadlines there is no timer, except one that {@linkcode Timers.mayFireUnused} allows to remain.
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

  /** Runs due deadlines; their functions may start and cancel deadlines, including ones that are due now. */
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
      removeEmptyQueues();
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

  /** Removes the queues of unused lengths. It does not run for each deadline, because most lengths occur again soon. */
  function removeEmptyQueues(): void {
    for (const [ms, queue] of queues) {
      if (queue.size === 0) queues.delete(ms);
    }
  }

  return {
    elapsedMs: timers.elapsedMs,
    start(ms, onPassed, sinceMs = timers.elapsedMs()) {
      if (ms === Infinity) return NOTHING;
      const restMs = ms > 0 ? ms : 1;
      const dueMs = sinceMs + restMs;
      const takeOut = queueOf(restMs).add({ dueMs, onPassed });
      arm(dueMs);
      return timers.mayFireUnused ? takeOut : () => {
        takeOut();
        removeEmptyQueues();
        if (queues.size === 0) disarm();
      };
    },
  };
}

/** A deadline and its queue. */
interface Next {
  readonly queue: LinkedList<Entry>;
  readonly entry: Entry;
}

/**
 * Returns the next deadline to pass. If several pass at the same time, returns one from the queue that was created
 * first.
 */
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

/** The timer of a wait and the signal that ends it early. */
interface WaitOptions {
  readonly deadlines: Pick<Deadlines, "start">;
  readonly signal: AbortSignal;
}

/**
 * Waits.
 *
 * @param ms 0 or more, in milliseconds.
 * @throws The signal's reason as soon as the signal aborts.
 */
export async function wait(
  ms: number,
  { deadlines, signal }: WaitOptions,
): Promise<void> {
  signal.throwIfAborted();
  if (ms === 0) return;
  const timeout = Promise.withResolvers<void>();
  const cancel = deadlines.start(ms, timeout.resolve);
  await settled(timeout, signal, cancel);
}

/**
 * Waits for a promise that other code settles. When the signal aborts, calls `onAbort` and rejects with the signal's
 * reason, so that no value goes to a caller that has left. A promise that is already settled keeps its result.
 */
export async function settled<Value>(
  { promise, reject }: PromiseWithResolvers<Value>,
  signal: AbortSignal,
  onAbort: () => void,
): Promise<Value> {
  const stop = () => {
    onAbort();
    reject(signal.reason);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The timeout of some work, and the result that replaces a late result. */
interface WithinOptions<Late> {
  /** The timeout, in milliseconds. */
  readonly ms: number;
  /** The timer: `start` of {@linkcode Deadlines}, or `schedule` of {@linkcode Timers}. */
  readonly start: (ms: number, onPassed: () => void) => Cancel;
  /** Returns the result after the timeout; an error that it throws becomes the result. */
  readonly onLate: () => Late;
}

/**
 * Waits for `work` until a timeout. Late work continues, and its later failure is ignored. Pass work of many steps as
 * one promise: one call per step would keep each step's value until the timeout.
 */
export function within<Value, Late>(
  work: Promise<Value>,
  { ms, start, onLate }: WithinOptions<Late>,
): Promise<Value | Late> {
  return new Promise((resolve, reject) => {
    const cancel = start(ms, () => Promise.try(onLate).then(resolve, reject));
    work.then((value) => {
      cancel();
      resolve(value);
    }, (cause) => {
      cancel();
      reject(cause);
    });
  });
}

/**
 * Waits for `work` until `signal` aborts. The work itself continues, and its later failure is ignored.
 *
 * @throws The signal's reason when the signal aborts before `work` ends. Throws at once when the signal has already
 * aborted.
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
