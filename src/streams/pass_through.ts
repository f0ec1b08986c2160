import type { Deadlines } from "../core/time/deadlines.ts";
import { abandon, type ByteReader } from "./byte_reader.ts";
import { createIdleWatch } from "./watched_reader.ts";

/** A caller with a keep-alive hears something at least this often (docs/design.md#streams), in milliseconds. */
export const KEEP_ALIVE_MS = 15_000;

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
  /** The reader is there, but takes nothing any more. */
  | { readonly kind: "stalled" };

/** What {@linkcode passThrough} tells while it works. */
interface PassThroughOptions {
  readonly deadlines: Deadlines;
  /** How long the reader may take nothing, in milliseconds; default ten minutes. */
  readonly stallMs?: number;
  /** What a reader is given who has waited for {@linkcode KEEP_ALIVE_MS}; default: nothing. */
  readonly keepAlive?: () => Uint8Array;
  /**
   * Sees each chunk after it has been handed on; must not keep or change it. What its text is, as `byteText` has it, is
   * told where the reader knows.
   */
  readonly onChunk: (chunk: Uint8Array, text?: string) => void;
  /** Whether what has been handed on is whole, once the source has ended; default: yes. */
  readonly isWhole?: () => boolean;
  /** Called exactly once, when nothing more will happen. */
  readonly onEnd: (end: PassThroughEnd) => void;
}

/**
 * Hands a body on chunk by chunk as it comes. Nothing is read ahead, so a slow reader slows the source. A
 * source that breaks or ends too early errors the result, which cuts the connection instead of ending it as
 * if the answer were whole (docs/design.md#streams). A reader that leaves cancels the source at once. An empty chunk
 * is only a sign that the source is at work, and not handed on.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDeadlines } from "../core/time/deadlines.ts";
 *
 * const ends: string[] = [];
 * let bytes = 0;
 * const body = passThrough(new Blob(["hello"]).stream().getReader(), {
 *   deadlines: createDeadlines(),
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
  /** Whether the reader was given anything since it last asked for more. */
  let hasGiven = false;
  const { deadlines, stallMs } = options;
  const stall = createStallWatch({
    deadlines,
    stallMs,
    isAllTaken: () => controller?.desiredSize === 0,
    onStall: () => cut({ kind: "stalled" }, "The caller takes nothing"),
  });
  const silence = createSilence(options, give);

  function give(chunk: Uint8Array, text?: string): void {
    if (chunk.length === 0) return;
    hasGiven = true;
    controller?.enqueue(chunk);
    silence?.wait();
    stall.given();
    options.onChunk(chunk, text);
  }

  function end(how: PassThroughEnd): void {
    if (ended) return;
    ended = true;
    silence?.stop();
    stall.stop();
    options.onEnd(how);
  }

  function cut(how: PassThroughEnd, why: string): void {
    end(how);
    const error = new Error(why);
    controller?.error(error);
    abandon(reader, error);
  }

  return new ReadableStream<Uint8Array>({
    start(itsController) {
      controller = itsController;
    },
    async pull(itsController) {
      hasGiven = false;
      stall.asked();
      silence?.wait();
      try {
        let read = await reader.read();
        while (read.value?.length === 0 && !hasGiven && !ended) {
          read = await reader.read();
        }
        if (ended) return;
        silence?.heard();
        const { done, value, text } = read;
        if (done && options.isWhole?.() === false) {
          cut({ kind: "unfinished" }, "The upstream's answer is not whole");
        } else if (done) {
          itsController.close();
          end({ kind: "complete" });
        } else {
          give(value, text);
          silence?.heard();
          stall.answered();
        }
      } catch (cause) {
        if (ended) return;
        itsController.error(cause);
        end({ kind: "broken", cause });
        abandon(reader, cause);
      }
    },
    cancel(reason) {
      end({ kind: "cancelled" });
      abandon(reader, reason);
    },
  }, { highWaterMark: 0 });
}

/** Keeps a reader company that waits, from the last that it was given. */
function createSilence(
  { deadlines, keepAlive }: PassThroughOptions,
  give: (chunk: Uint8Array) => void,
): ReturnType<typeof createIdleWatch> | undefined {
  if (keepAlive === undefined) return undefined;
  const silence = createIdleWatch({
    deadlines,
    idleMs: KEEP_ALIVE_MS,
    onIdle() {
      give(keepAlive());
      silence.wait();
    },
  });
  return silence;
}

/** Whoever takes nothing for ten minutes will not take the rest either, in milliseconds. */
export const STALL_MS = 600_000;

/** Tells when somebody who is given something takes nothing any more. */
export interface StallWatch {
  /** More is asked for: all that was given is taken. */
  asked(): void;
  /** Something is given. */
  given(): void;
  /** What was asked for is given, and nothing more comes until more is asked for. */
  answered(): void;
  /** Ends the watch. */
  stop(): void;
}

/** What a {@linkcode StallWatch} watches for. */
interface StallWatchOptions {
  readonly deadlines: Deadlines;
  /** How long nothing may be taken, in milliseconds; default {@linkcode STALL_MS}. */
  readonly stallMs?: number | undefined;
  /** Whether nothing lies there: what a waiting reader takes is taken without being asked for. */
  readonly isAllTaken: () => boolean;
  readonly onStall: () => void;
}

/** A watch that runs from the first that is not taken; what is given meanwhile changes nothing. */
export function createStallWatch(
  { deadlines, stallMs = STALL_MS, isAllTaken, onStall }: StallWatchOptions,
): StallWatch {
  let isRunning = false;
  let isAsked = false;
  const watch = createIdleWatch({
    deadlines,
    idleMs: stallMs,
    onIdle() {
      isRunning = false;
      if (!isAsked || !isAllTaken()) onStall();
    },
  });

  function given(): void {
    if (!isRunning) watch.wait();
    isRunning = true;
  }

  return {
    asked() {
      isAsked = true;
      isRunning = false;
      watch.heard();
    },
    given,
    answered() {
      isAsked = false;
      if (isAllTaken()) isRunning = false;
      given();
    },
    stop: watch.stop,
  };
}
