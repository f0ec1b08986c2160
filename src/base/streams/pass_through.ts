import type { Cancel, Deadlines } from "../time/deadlines.ts";
import { abandon, type ByteRead, type ByteReader } from "./byte_reader.ts";
import { createIdleWatch, type IdleWatch } from "./watched_reader.ts";

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
  /**
   * The reader is still connected but has stopped reading. `forOthers` is true when other requests waited for the body
   * to end.
   */
  | { readonly kind: "stalled"; readonly forOthers?: boolean };

interface PassThroughOptions {
  readonly deadlines: Deadlines;
  /**
   * Returns true while other requests wait for the body to end. A stalled reader is then cut off after a minute, not
   * after ten.
   */
  readonly isAwaited?: (() => boolean) | undefined;
  /** Returns the bytes that a reader receives after {@linkcode KEEP_ALIVE_MS} of silence; default: none. */
  readonly keepAlive?: () => Uint8Array;
  /**
   * Receives each chunk after it was sent, and must not keep or change the chunk. `text` is the result of `byteText`
   * for the chunk, if known.
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
 * - A source that breaks off or ends too early fails the read. The connection is then cut, so that the answer does not
 *   look complete.
 * - When the reader cancels, the source is cancelled at once.
 * - An empty chunk only shows that the source is active. It is not forwarded.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDeadlines } from "../time/deadlines.ts";
 *
 * const ends: string[] = [];
 * let bytes = 0;
 * const body = new PassThrough(new Blob(["hello"]).stream().getReader(), {
 *   deadlines: createDeadlines(),
 *   onChunk: (chunk) => bytes += chunk.length,
 *   onEnd: ({ kind }) => ends.push(kind),
 * });
 * assert.equal((await body.read()).value?.length, 5);
 * assert.equal((await body.read()).done, true);
 * assert.equal(bytes, 5);
 * assert.deepEqual(ends, ["complete"]);
 * ```
 */
export class PassThrough implements ByteReader {
  /** Called with the error of the next read when the reader has stopped reading. */
  onStall: ((error: Error) => void) | undefined;
  readonly #source: ByteReader;
  readonly #options: PassThroughOptions;
  readonly #stall: IdleWatch;
  readonly #silence: IdleWatch | undefined;
  /** The read of the source that is under way. */
  #reading: Promise<ByteRead> | undefined;
  /** The read that the reader waits for. A keep-alive may end this read before the source does. */
  #waiting: PromiseWithResolvers<ByteRead> | undefined;
  #hasEnded = false;
  #error: unknown;
  #stopLooking: Cancel | undefined;

  constructor(source: ByteReader, options: PassThroughOptions) {
    this.#source = source;
    this.#options = options;
    const { deadlines, keepAlive } = options;
    this.#stall = createIdleWatch({
      deadlines,
      idleMs: AWAITED_STALL_MS,
      onIdle: () => this.#judgeStall(AWAITED_STALL_MS),
    });
    this.#silence = keepAlive && createIdleWatch({
      deadlines,
      idleMs: KEEP_ALIVE_MS,
      onIdle: () => this.#sendKeepAlive(keepAlive()),
    });
  }

  read(): Promise<ByteRead> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#hasEnded) return END;
    this.#stall.endWait();
    this.#stopLooking?.();
    this.#silence?.wait();
    const waiting = Promise.withResolvers<ByteRead>();
    this.#waiting = waiting;
    this.#readSource();
    return waiting.promise;
  }

  /** Notes that the caller has taken a part of the last chunk, and thus has not stopped reading. */
  noteTaken(): void {
    this.#stopLooking?.();
    if (this.#waiting === undefined) this.#stall.wait();
  }

  /** Cancels the source with the reason that the reader of this body gives. */
  cancel(reason?: unknown): Promise<void> {
    this.#end({ kind: "cancelled" });
    abandon(this.#source, reason);
    this.#takeWaiting()?.resolve({ done: true });
    return Promise.resolve();
  }

  #readSource(): void {
    this.#reading ??= this.#source.read();
    this.#reading.then(this.#arrived, this.#broke);
  }

  #takeWaiting(): PromiseWithResolvers<ByteRead> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#silence?.endWait();
    return waiting;
  }

  /** Handles what the source has sent. If no read waits for the chunk, the chunk stays for the next read. */
  readonly #arrived = (read: ByteRead): void => {
    if (this.#waiting === undefined) return;
    this.#reading = undefined;
    if (read.value?.length === 0) return this.#readSource();
    const waiting = this.#takeWaiting();
    try {
      if (!read.done) {
        this.#sent(read.value, read.text);
      } else if (this.#options.isWhole?.() === false) {
        return waiting?.reject(
          this.#cut(
            { kind: "unfinished" },
            "The upstream's answer is incomplete",
          ),
        );
      } else {
        this.#end({ kind: "complete" });
      }
      waiting?.resolve(read);
    } catch (cause) {
      this.#fail(cause);
      waiting?.reject(cause);
    }
  };

  readonly #broke = (cause: unknown): void => {
    const waiting = this.#takeWaiting();
    if (waiting === undefined) return;
    this.#fail(cause);
    waiting.reject(cause);
  };

  #fail(cause: unknown): void {
    this.#error = cause;
    this.#end({ kind: "broken", cause });
    abandon(this.#source, cause);
  }

  #sendKeepAlive(value: Uint8Array): void {
    if (value.length === 0) return this.#silence?.wait();
    const waiting = this.#takeWaiting();
    if (waiting === undefined) return;
    this.#sent(value);
    waiting.resolve({ done: false, value });
  }

  /** Cuts off a reader that has taken nothing for too long, or checks again later. */
  #judgeStall(stalledMs: number): void {
    const isLate = stalledMs >= STALL_MS;
    if (!isLate && !this.#options.isAwaited?.()) {
      const look = () => this.#judgeStall(stalledMs + LOOK_AGAIN_MS);
      this.#stopLooking = this.#options.deadlines.start(LOOK_AGAIN_MS, look);
      return;
    }
    const end = { kind: "stalled", ...!isLate && { forOthers: true } } as const;
    const error = this.#cut(end, "The caller has stopped reading");
    this.onStall?.(error);
  }

  #sent(chunk: Uint8Array, text?: string): void {
    this.#stall.wait();
    this.#options.onChunk(chunk, text);
  }

  #cut(how: PassThroughEnd, why: string): Error {
    const error = new Error(why);
    this.#error = error;
    this.#end(how);
    abandon(this.#source, error);
    return error;
  }

  #end(how: PassThroughEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#silence?.stop();
    this.#stall.stop();
    this.#stopLooking?.();
    this.#options.onEnd(how);
  }
}

const END: Promise<ByteRead> = Promise.resolve({ done: true });

/**
 * The longest time without a read before the caller is cut off, in milliseconds. The second value applies while other
 * requests wait.
 */
export const STALL_MS = 600_000;
const AWAITED_STALL_MS = 60_000;

/**
 * The interval of the checks for waiting requests, in milliseconds. Both limits of a stall are multiples of this
 * interval.
 */
const LOOK_AGAIN_MS = 5_000;
