import type { Deadlines } from "../core/time/deadlines.ts";
import { abandon, type ByteReader } from "./byte_reader.ts";
import { createIdleWatch } from "./watched_reader.ts";

/** The longest silence before a keep-alive is sent (docs/design.md#streams), in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** The end of a body that was forwarded. */
export type PassThroughEnd =
  /** The source ended and everything was sent. */
  | { readonly kind: "complete" }
  /** The reader cancelled. */
  | { readonly kind: "cancelled" }
  /** The source broke off. */
  | { readonly kind: "broken"; readonly cause: unknown }
  /** The source ended before its content was complete. */
  | { readonly kind: "unfinished" }
  /** The reader is still connected but has stopped reading. */
  | { readonly kind: "stalled" };

interface PassThroughOptions {
  readonly deadlines: Deadlines;
  /** The longest time without a read, in milliseconds; default ten minutes. */
  readonly stallMs?: number;
  /** Returns the bytes that a reader receives after {@linkcode KEEP_ALIVE_MS} of silence; default: none. */
  readonly keepAlive?: () => Uint8Array;
  /**
   * Receives each chunk after it was sent; it must not keep or change it. `text` is the result of `byteText` for the
   * chunk, if known.
   */
  readonly onChunk: (chunk: Uint8Array, text?: string) => void;
  /** Returns true when the sent bytes are complete. Called after the source has ended; default: true. */
  readonly isWhole?: () => boolean;
  /** Called exactly once, at the end. */
  readonly onEnd: (end: PassThroughEnd) => void;
}

/**
 * Forwards a body chunk by chunk (docs/design.md#streams):
 *
 * - Nothing is read ahead, so a slow reader slows the source.
 * - A source that breaks off or ends too early errors the result. The connection is then cut, so that the answer does
 *   not look complete.
 * - When the reader cancels, the source is cancelled at once.
 * - An empty chunk only shows that the source is active. It is not forwarded.
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
  /** True when the reader received bytes since its last read began. */
  let hasSent = false;
  const { deadlines, stallMs } = options;
  const stall = createStallWatch({
    deadlines,
    stallMs,
    isAllTaken: () => controller?.desiredSize === 0,
    onStall: () => cut({ kind: "stalled" }, "The caller has stopped reading"),
  });
  const keepAliveWatch = createKeepAliveWatch(options, send);

  function send(chunk: Uint8Array, text?: string): void {
    if (chunk.length === 0) return;
    hasSent = true;
    controller?.enqueue(chunk);
    keepAliveWatch?.wait();
    stall.sent();
    options.onChunk(chunk, text);
  }

  function end(how: PassThroughEnd): void {
    if (ended) return;
    ended = true;
    keepAliveWatch?.stop();
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
    start(streamController) {
      controller = streamController;
    },
    async pull(streamController) {
      hasSent = false;
      stall.readBegan();
      keepAliveWatch?.wait();
      try {
        let read = await reader.read();
        while (read.value?.length === 0 && !hasSent && !ended) {
          read = await reader.read();
        }
        if (ended) return;
        keepAliveWatch?.endWait();
        const { done, value, text } = read;
        if (done && options.isWhole?.() === false) {
          cut({ kind: "unfinished" }, "The upstream's answer is incomplete");
        } else if (done) {
          streamController.close();
          end({ kind: "complete" });
        } else {
          send(value, text);
          keepAliveWatch?.endWait();
          stall.readEnded();
        }
      } catch (cause) {
        if (ended) return;
        streamController.error(cause);
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

/** Sends a keep-alive when the reader has waited too long for the next bytes. */
function createKeepAliveWatch(
  { deadlines, keepAlive }: PassThroughOptions,
  send: (chunk: Uint8Array) => void,
): ReturnType<typeof createIdleWatch> | undefined {
  if (keepAlive === undefined) return undefined;
  const keepAliveWatch = createIdleWatch({
    deadlines,
    idleMs: KEEP_ALIVE_MS,
    onIdle() {
      send(keepAlive());
      keepAliveWatch.wait();
    },
  });
  return keepAliveWatch;
}

/** The longest time without a read before the caller is cut off, in milliseconds. */
export const STALL_MS = 600_000;

/** Detects a reader that has stopped reading. */
interface StallWatch {
  /** Records a read: the reader has taken all earlier bytes. */
  readBegan(): void;
  /** Records bytes that are sent. */
  sent(): void;
  /** Records the end of a read: no bytes follow until the next one. */
  readEnded(): void;
  /** Ends the watch. */
  stop(): void;
}

interface StallWatchOptions {
  readonly deadlines: Deadlines;
  /** The longest time without a read, in milliseconds; default {@linkcode STALL_MS}. */
  readonly stallMs?: number | undefined;
  /** Returns true when no bytes are queued. A waiting reader takes bytes without another read. */
  readonly isAllTaken: () => boolean;
  readonly onStall: () => void;
}

/** Creates a watch. Its timeout starts with the first bytes that are not read; later bytes do not restart it. */
export function createStallWatch(
  { deadlines, stallMs = STALL_MS, isAllTaken, onStall }: StallWatchOptions,
): StallWatch {
  let isRunning = false;
  let isReading = false;
  const watch = createIdleWatch({
    deadlines,
    idleMs: stallMs,
    onIdle() {
      isRunning = false;
      if (!isReading || !isAllTaken()) onStall();
    },
  });

  function sent(): void {
    if (!isRunning) watch.wait();
    isRunning = true;
  }

  return {
    readBegan() {
      isReading = true;
      isRunning = false;
      watch.endWait();
    },
    sent,
    readEnded() {
      isReading = false;
      if (isAllTaken()) isRunning = false;
      sent();
    },
    stop: watch.stop,
  };
}
