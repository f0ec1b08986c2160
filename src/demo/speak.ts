import type { Step } from "./step.ts";
import { type Wait, waitForAbort } from "./wait.ts";

/** How fast a body is sent, and what stops it. */
export interface SpeakOptions {
  readonly wait: Wait;
  /** Milliseconds for one word; 0 sends without waiting. */
  readonly wordMs: number;
  /** The request's signal: its abort errors the body with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * A body that takes `steps` one after the other, only as fast as it is read. It stops at once when the
 * signal aborts or the reader cancels, and leaves nothing behind.
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

/** Takes steps up to the next text; `undefined` when there are none left. */
async function nextText(
  iterator: Iterator<Step>,
  options: SpeakOptions,
): Promise<string | undefined> {
  for (;;) {
    const { value: step, done } = iterator.next();
    if (done) return undefined;
    if (step.kind === "hang") await waitForAbort(options.signal);
    else if (step.kind === "break") throw brokenConnection();
    else if (step.kind === "wait") await options.wait(step.ms, options.signal);
    else {
      const ms = step.wordCount * options.wordMs;
      if (ms > 0) await options.wait(ms, options.signal);
      return step.text;
    }
  }
}

/** What `fetch` throws when the other side goes away in the middle of a body. */
function brokenConnection(): TypeError {
  return new TypeError("error reading a body from connection");
}
