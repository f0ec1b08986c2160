import { untilAbort, wait } from "@gateway/base/time/deadlines";
import { systemTimers } from "@gateway/base/time/timers";
import { type Fault, SLOW_MS } from "./providers.ts";

/** One step of sending a body: `text` after the delay of `wordCount` words. */
export interface Step {
  readonly text: string;
  readonly wordCount: number;
}

/** Returns a step that writes `text` at once, or after the delay of `wordCount` words. */
export function write(text: string, wordCount = 0): Step {
  return { text, wordCount };
}

/**
 * Waits `ms` milliseconds. When `signal` aborts, the wait rejects at once with the signal's reason, and leaves no timer
 * and no listener behind.
 */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Waits with the clock of this machine. */
export function waitInRealTime(ms: number, signal: AbortSignal): Promise<void> {
  return wait(ms, { deadlines: { start: systemTimers.schedule }, signal });
}

/** Never resolves; rejects with the signal's reason as soon as `signal` aborts. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return untilAbort(Promise.withResolvers<void>().promise, signal);
}

/** The speed of a body, its fault, and the signal that stops it. */
interface SpeakOptions {
  readonly wait: Wait;
  /** The delay of one word, in milliseconds; 0 sends without delay. */
  readonly wordMs: number;
  /** The request's signal; when it aborts, the body fails with the signal's reason. */
  readonly signal: AbortSignal;
  /** The fault of the body. A fault that replaces the whole answer does not change the body. */
  readonly fault?: Fault | undefined;
}

/**
 * Returns a body that runs `steps` one after the other, each only when the reader asks for more. The body stops at once
 * when the signal aborts or the reader cancels, and leaves no timer or listener behind.
 */
export function speak(
  steps: Iterable<Step>,
  options: SpeakOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const cancelled = new AbortController();
  const signal = AbortSignal.any([options.signal, cancelled.signal]);
  const texts = textsOf(steps, { ...options, signal });
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await texts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: (reason) => cancelled.abort(reason),
  }, { highWaterMark: 0 });
}

/** Yields the text of each step after the delay of the step. */
async function* textsOf(
  steps: Iterable<Step>,
  { wait, wordMs, signal, fault }: SpeakOptions,
): AsyncGenerator<string, undefined> {
  const isCut = fault === "broken" || fault === "stall";
  let pauseMs = fault === "slow" ? SLOW_MS : 0;
  for (const { text, wordCount } of isCut ? firstHalf(steps) : steps) {
    signal.throwIfAborted();
    if (wordCount > 0) {
      const ms = pauseMs + wordCount * wordMs;
      pauseMs = 0;
      if (ms > 0) await wait(ms, signal);
    }
    yield text;
  }
  if (fault === "stall") await waitForAbort(signal);
  if (fault === "broken") {
    // The error of `fetch` for a connection that breaks in the middle of a body.
    throw new TypeError("error reading a body from connection");
  }
}

/** Returns the first half of the steps. If there is only one step, returns the first half of its text. */
function firstHalf(steps: Iterable<Step>): Step[] {
  const all = [...steps];
  const [only] = all;
  return all.length === 1 && only !== undefined
    ? [write(only.text.slice(0, only.text.length / 2), only.wordCount)]
    : all.slice(0, Math.ceil(all.length / 2));
}
