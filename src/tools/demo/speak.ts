import { untilAbort, wait } from "@gateway/base/time/deadlines";
import { systemTimers } from "@gateway/base/time/timers";

/** One step of sending a body. */
export type Step =
  /** Writes `text` after the delay of `wordCount` words. */
  | {
    readonly kind: "write";
    readonly text: string;
    readonly wordCount: number;
  }
  | { readonly kind: "wait"; readonly ms: number }
  /** Sends nothing more, but keeps the connection open. */
  | { readonly kind: "hang" }
  /** Cuts the connection. */
  | { readonly kind: "break" };

/** Returns a step that writes `text` at once, or after the delay of `wordCount` words. */
export function write(text: string, wordCount = 0): Step {
  return { kind: "write", text, wordCount };
}

/**
 * Waits `ms` milliseconds. When `signal` aborts, it rejects at once with the signal's reason, and leaves no timer and
 * no listener behind.
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

/** The speed of a body, and the signal that stops it. */
interface SpeakOptions {
  readonly wait: Wait;
  /** The delay of one word, in milliseconds; 0 sends without delay. */
  readonly wordMs: number;
  /** The request's signal; when it aborts, the body fails with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Returns a body that runs `steps` one after the other, only as fast as it is read. It stops at once when the signal
 * aborts or the reader cancels, and leaves nothing behind.
 */
export function speak(
  steps: Iterable<Step>,
  options: SpeakOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const iterator = steps[Symbol.iterator]();
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  return new ReadableStream({
    start(controller) {
      const fail = () => controller.error(options.signal.reason);
      options.signal.addEventListener("abort", fail, {
        once: true,
        signal: ended.signal,
      });
    },
    async pull(controller) {
      try {
        const text = await nextText(iterator, { ...options, signal });
        if (signal.aborted) return;
        if (text !== undefined) {
          return controller.enqueue(encoder.encode(text));
        }
        ended.abort();
        controller.close();
      } catch (error) {
        if (signal.aborted) return;
        ended.abort();
        controller.error(error);
      }
    },
    cancel(reason) {
      ended.abort(reason);
    },
  }, { highWaterMark: 0 });
}

/** Runs steps up to the next text and returns it; `undefined` after the last step. */
async function nextText(
  iterator: Iterator<Step>,
  options: SpeakOptions,
): Promise<string | undefined> {
  for (;;) {
    const { value: step, done } = iterator.next();
    if (done) return undefined;
    if (step.kind === "hang") await waitForAbort(options.signal);
    else if (step.kind === "break") {
      // The error of `fetch` for a connection that breaks in the middle of a body.
      throw new TypeError("error reading a body from connection");
    } else if (step.kind === "wait") {
      await options.wait(step.ms, options.signal);
    } else {
      const ms = step.wordCount * options.wordMs;
      if (ms > 0) await options.wait(ms, options.signal);
      return step.text;
    }
  }
}
