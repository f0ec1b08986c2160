import { setImmediate } from "node:timers";
import type { Clock, Timers } from "../../../src/base/time/timers.ts";

/** The earliest start of a history: Monday, 2026-11-23, 08:00 UTC. */
const START_MS = Date.UTC(2026, 10, 23, 8);

/** The most moments between two turns of the event loop, which reports unhandled rejections. */
const MOST_MOMENTS = 256;

/** The functions of Deno's own event loop. With them, a moment costs a tenth of a turn. */
interface Core {
  /** Runs all waiting microtasks. */
  runMicrotasks(): void;
  getActiveImmediateCount(): number;
  hasTickScheduled(): boolean;
}

const { core }: { readonly core: Core } = Reflect.get(
  Deno,
  Reflect.get(Deno, "internal"),
);

/** The reason to stop passing moments for now. */
type Stop = "over" | "turn" | Outside;

/** Work of another thread. */
interface Outside {
  readonly done: Promise<void>;
  readonly deliver: () => void;
}

interface Timer {
  readonly dueMs: number;
  readonly number: number;
  readonly onDue: () => void;
  isCancelled: boolean;
}

/**
 * A clock whose time stands still while anything can run, and jumps to the next timer when nothing can. Timers of the
 * same moment fire in the order in which they were set.
 */
export class VirtualTime implements Clock, Timers {
  /** The count of moments of all clocks in this thread. Another thread may watch it. */
  static moments = new Int32Array(1);
  readonly mayFireUnused = false;
  /** The start of the history, in milliseconds since 1970. */
  readonly startMs: number;
  /** The number of timers that have neither fired nor been cancelled. */
  running = 0;
  readonly #heap: Timer[] = [];
  #elapsedMs = 0;
  #number = 0;
  /** The work of other threads that is under way, in the order in which it began. */
  readonly #outside: Outside[] = [];

  /** @param offsetMs The time between {@linkcode START_MS} and the start. */
  constructor(offsetMs = 0) {
    this.startMs = START_MS + offsetMs;
  }

  // Callers may use these functions without the object.
  readonly now = (): number => this.startMs + Math.floor(this.#elapsedMs);

  readonly elapsedMs = (): number => this.#elapsedMs;

  readonly schedule = (delayMs: number, onDue: () => void): () => void => {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const timer = { dueMs, number: this.#number++, onDue, isCancelled: false };
    this.running++;
    push(this.#heap, timer);
    return () => {
      if (timer.isCancelled) return;
      timer.isCancelled = true;
      this.running--;
    };
  };

  /** Resolves after `delayMs` of virtual time. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.schedule(delayMs, resolve));
  }

  /**
   * Waits for work of another thread, whose real duration varies. Virtual time stands still meanwhile, and the result
   * arrives when nothing else can run.
   */
  outside<Value>(work: Promise<Value>): Promise<Value> {
    const { promise, resolve } = Promise.withResolvers<Value>();
    const done = work.then(() => {}, () => {});
    this.#outside.push({ done, deliver: () => resolve(work) });
    return promise;
  }

  /**
   * Runs everything until no timer is left or `untilMs` is reached.
   *
   * @param untilMs Milliseconds since the start of the history.
   * @param isOver Ends the run early, between two moments.
   */
  run(untilMs: number, isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const advance = () => {
        try {
          const stop = this.#advance(untilMs, isOver);
          if (stop === "over") resolve();
          else if (stop === "turn") setImmediate(advance);
          else stop.done.then(stop.deliver).then(() => setImmediate(advance));
        } catch (cause) {
          reject(cause);
        }
      };
      setImmediate(advance);
    });
  }

  /** Passes moments until the event loop must turn, work of another thread must end, or the run is over. */
  #advance(untilMs: number, isOver: () => boolean): Stop {
    for (let moments = 0; moments < MOST_MOMENTS; moments++) {
      Atomics.add(VirtualTime.moments, 0, 1);
      core.runMicrotasks();
      if (core.getActiveImmediateCount() > 0 || core.hasTickScheduled()) break;
      const work = this.#outside.shift();
      if (work !== undefined) return work;
      if (isOver()) return "over";
      const next = this.#takeNext(untilMs);
      if (next === undefined) {
        this.#elapsedMs = Math.max(this.#elapsedMs, Math.min(untilMs, 1e12));
        return "over";
      }
      this.#elapsedMs = next.dueMs;
      next.isCancelled = true;
      this.running--;
      next.onDue();
    }
    return "turn";
  }

  #takeNext(untilMs: number): Timer | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined) return undefined;
      if (!first.isCancelled && first.dueMs > untilMs) return undefined;
      pop(this.#heap);
      if (!first.isCancelled) return first;
    }
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.dueMs < other.dueMs ||
    (one.dueMs === other.dueMs && one.number < other.number);
}

function push(heap: Timer[], timer: Timer): void {
  let at = heap.length;
  heap.push(timer);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(timer, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = timer;
}

function pop(heap: Timer[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    const [left, right] = [heap[below], heap[below + 1]];
    let child = left;
    if (left !== undefined && right !== undefined && isBefore(right, left)) {
      child = right;
      below++;
    }
    if (child === undefined || !isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
