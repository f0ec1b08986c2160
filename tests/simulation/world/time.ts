import { setImmediate } from "node:timers";
import type { Clock, Timers } from "../../../src/core/time/timers.ts";

/** The moment from which histories begin: Monday, 2026-11-23, 08:00 UTC. */
const START_MS = Date.UTC(2026, 10, 23, 8);

/**
 * The turns of the event loop without any activity after which nothing is left to run. What needs more turns continues
 * at a later moment, the same one in every run.
 */
const QUIET_TURNS = 2;

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
  readonly mayFireUnused = false;
  /** The start of the history, in milliseconds since 1970. */
  readonly startMs: number;
  /** The number of timers that have neither fired nor been cancelled. */
  running = 0;
  readonly #heap: Timer[] = [];
  #elapsedMs = 0;
  #number = 0;
  #activity = 0;
  /** The work of other threads that is under way, in the order in which it began. */
  readonly #outside: { readonly done: Promise<void>; deliver: () => void }[] =
    [];

  /** @param offsetMs The time between {@linkcode START_MS} and the start. */
  constructor(offsetMs = 0) {
    this.startMs = START_MS + offsetMs;
  }

  // Users of a clock may take it apart.
  readonly now = (): number => this.startMs + Math.floor(this.#elapsedMs);

  readonly elapsedMs = (): number => this.#elapsedMs;

  readonly schedule = (delayMs: number, onDue: () => void): () => void => {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const timer = { dueMs, number: this.#number++, onDue, isCancelled: false };
    this.#activity++;
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

  /** Notes that something happened, so that time waits for what follows from it. */
  touch(): void {
    this.#activity++;
  }

  /**
   * Waits for work of another thread, whose real duration varies: time stands still meanwhile, and its result comes when
   * nothing else is left to run.
   */
  outside<Value>(work: Promise<Value>): Promise<Value> {
    const { promise, resolve } = Promise.withResolvers<Value>();
    const done = work.then(() => {}, () => {});
    this.#outside.push({ done, deliver: () => resolve(work) });
    return promise;
  }

  /**
   * Lets everything run until no timer is left or `untilMs` has come.
   *
   * @param untilMs Milliseconds since the start of the history.
   * @param isOver Ends the run early, between two moments.
   */
  async run(untilMs: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      await this.#settle();
      if (isOver()) return;
      const next = this.#takeNext(untilMs);
      if (next === undefined) {
        this.#elapsedMs = Math.max(this.#elapsedMs, Math.min(untilMs, 1e12));
        return;
      }
      this.#elapsedMs = next.dueMs;
      next.isCancelled = true;
      this.running--;
      next.onDue();
    }
  }

  async #settle(): Promise<void> {
    await this.#quiet();
    let work = this.#outside.shift();
    while (work !== undefined) {
      await work.done;
      work.deliver();
      await this.#quiet();
      work = this.#outside.shift();
    }
  }

  async #quiet(): Promise<void> {
    let quiet = 0;
    while (quiet < QUIET_TURNS) {
      const before = this.#activity;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = before === this.#activity ? quiet + 1 : 0;
    }
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
