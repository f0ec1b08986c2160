import type { Deadlines } from "../core/deadlines.ts";
import { createIdleWatch } from "./idle_watch.ts";
import type { ByteReader } from "./look_ahead.ts";

/** Whoever takes nothing for ten minutes will not take the rest either, in milliseconds. */
export const STALL_MS = 600_000;

/** How a body that was passed through ended. */
export type PassThroughEnd =
  /** The source ended and all of it was handed on. */
  | { readonly kind: "complete" }
  /** The reader went away. */
  | { readonly kind: "cancelled" }
  /** The source broke. */
  | { readonly kind: "broken"; readonly cause: unknown }
  /** The source ended before what it gave was whole. */
  | { readonly kind: "unfinished" }
  /** The source was silent for longer than it may be. */
  | { readonly kind: "idle" }
  /** The reader is there, but takes nothing any more. */
  | { readonly kind: "stalled" };

/** What {@linkcode passThrough} tells while it works. */
export interface PassThroughOptions {
  readonly deadlines: Deadlines;
  /** How long the source may be silent while the reader waits, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** How long the reader may take nothing, in milliseconds; default {@linkcode STALL_MS}. */
  readonly stallMs?: number;
  /** Sees each chunk after it has been handed on; must not keep or change it. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Whether what has been handed on is whole, once the source has ended; default: yes. */
  readonly isWhole?: () => boolean;
  /** Called exactly once, when nothing more will happen. */
  readonly onEnd: (end: PassThroughEnd) => void;
}

/**
 * Hands a body on chunk by chunk as it comes. Nothing is read ahead, so a slow reader slows the source. A
 * source that breaks, falls silent or ends too early errors the result, which cuts the connection instead of ending it as
 * if the answer were whole (docs/design.md#streams). A reader that leaves cancels the source at once.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDeadlines } from "../core/deadlines.ts";
 *
 * const ends: string[] = [];
 * let bytes = 0;
 * const body = passThrough(new Blob(["hello"]).stream().getReader(), {
 *   deadlines: createDeadlines(),
 *   idleMs: 120_000,
 *   onChunk: (chunk) => bytes += chunk.length,
 *   onEnd: ({ kind }) => ends.push(kind),
 * });
 * assert.equal(await new Response(body).text(), "hello");
 * assert.equal(bytes, 5);
 * assert.deepEqual(ends, ["complete"]);
 * ```
 */
export function passThrough(
  reader: ByteReader,
  options: PassThroughOptions,
): ReadableStream<Uint8Array> {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let ended = false;
  const { deadlines, idleMs, stallMs = STALL_MS } = options;
  const idle = createIdleWatch({
    deadlines,
    idleMs,
    onIdle: () => cut({ kind: "idle" }, "The upstream fell silent"),
  });
  const stall = createIdleWatch({
    deadlines,
    idleMs: stallMs,
    onIdle: () => cut({ kind: "stalled" }, "The caller takes nothing"),
  });

  function end(how: PassThroughEnd): void {
    if (ended) return;
    ended = true;
    idle.stop();
    stall.stop();
    options.onEnd(how);
  }

  function cut(how: PassThroughEnd, why: string): void {
    end(how);
    const error = new Error(why);
    controller?.error(error);
    abandon(error);
  }

  function abandon(reason: unknown): void {
    reader.cancel(reason).catch(() => {
      // The source is given up already; how it takes that changes nothing.
    });
  }

  return new ReadableStream<Uint8Array>({
    start(itsController) {
      controller = itsController;
    },
    async pull(itsController) {
      stall.heard();
      try {
        idle.wait();
        let read = await reader.read();
        // An empty chunk is only a sign that the source is at work.
        while (read.value?.length === 0) {
          idle.wait();
          read = await reader.read();
        }
        idle.heard();
        if (ended) return;
        const { done, value } = read;
        if (done && options.isWhole?.() === false) {
          cut({ kind: "unfinished" }, "The upstream's answer is not whole");
        } else if (done) {
          itsController.close();
          end({ kind: "complete" });
        } else {
          itsController.enqueue(value);
          stall.wait();
          options.onChunk(value);
        }
      } catch (cause) {
        if (ended) return;
        itsController.error(cause);
        end({ kind: "broken", cause });
      }
    },
    cancel(reason) {
      end({ kind: "cancelled" });
      abandon(reason);
    },
  }, { highWaterMark: 0 });
}
