import type { Timers } from "../../../src/base/time/timers.ts";

/** Timers that only fire when a test advances their time. */
export interface FakeTimers extends Timers {
  /** Advances the time by `ms` milliseconds, and fires each due timer at its moment, in order. */
  advance(ms: number): void;
  /** The time until the next timer fires, in milliseconds; `undefined` when none runs. */
  readonly untilNextMs: number | undefined;
  /** The number of timers that have neither fired nor been cancelled. */
  readonly running: number;
  /** The number of all timers so far. */
  readonly started: number;
}

/** Creates {@linkcode FakeTimers}; their time begins at 0. */
export function createFakeTimers(): FakeTimers {
  const timers = new Set<{ dueMs: number; onDue: () => void }>();
  let nowMs = 0;
  let started = 0;

  function nextUntil(untilMs: number) {
    const [first] = [...timers].filter(({ dueMs }) => dueMs <= untilMs)
      .sort((one, other) => one.dueMs - other.dueMs);
    return first;
  }

  return {
    elapsedMs: () => nowMs,
    schedule(delayMs, onDue) {
      const timer = { dueMs: nowMs + delayMs, onDue };
      timers.add(timer);
      started += 1;
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let next = nextUntil(untilMs); next; next = nextUntil(untilMs)) {
        timers.delete(next);
        nowMs = next.dueMs;
        next.onDue();
      }
      nowMs = untilMs;
    },
    get untilNextMs() {
      const next = nextUntil(Infinity);
      return next && next.dueMs - nowMs;
    },
    get running() {
      return timers.size;
    },
    get started() {
      return started;
    },
  };
}
