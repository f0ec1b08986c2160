import { setImmediate } from "node:timers";

/** The longest time between two reads of the sockets by the event loop, in milliseconds. */
const SLICE_MS = 20;

/** The amount of work between two reads of the clock, in bytes. */
export const STEP_BYTES: number = 64 * 1024;

/** The cost of a chunk besides its bytes, in bytes: a chunk of one byte takes as long as a chunk of 256 bytes. */
const CHUNK_BYTES = 256;

/** The platform functions that {@linkcode EventLoop} uses; tests inject their own. */
interface EventLoopOptions {
  /** Returns milliseconds on a monotonic clock. */
  readonly elapsedMs: () => number;
  /** Lets the event loop run everything that is due already. */
  readonly nextTurn: () => Promise<void>;
  /** Waits until the event loop has been idle, and so has read from its sockets. */
  readonly idle: () => Promise<void>;
}

/** Divides a thread's time between long work and everything else. */
export class EventLoop {
  readonly #options: EventLoopOptions;
  #pause: Promise<void> | undefined;
  #pausedMs = 0;

  constructor(options: EventLoopOptions) {
    this.#options = options;
  }

  /** Returns milliseconds on a monotonic clock. */
  elapsedMs(): number {
    return this.#options.elapsedMs();
  }

  /**
   * Lets other work run between two steps of long work. A pause ends only when the event loop has been idle, so all
   * long work must pause together.
   *
   * @param sinceMs The start of the work, on the clock of {@linkcode EventLoop.elapsedMs}.
   */
  turn(sinceMs: number): Promise<void> {
    const runsMs = this.elapsedMs() - Math.max(sinceMs, this.#pausedMs);
    if (runsMs >= SLICE_MS) this.#pause ??= this.#idle();
    return this.#pause ?? this.#options.nextTurn();
  }

  async #idle(): Promise<void> {
    await this.#options.idle();
    this.#pause = undefined;
    this.#pausedMs = this.elapsedMs();
  }
}

/** The number of turns in which a request is answered: its input is read, a handler runs, and the output is written. */
const TURNS_TO_ANSWER = 8;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Waits until Deno has read from its sockets. Deno reads from the sockets when nothing is due, else in one turn of 61
 * (tokio's `event_interval`). A timer leaves time for such a read; an immediate does not.
 */
async function idle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  for (let turn = 0; turn < TURNS_TO_ANSWER; turn++) await nextTurn();
}

/** The event loop of this thread. */
const EVENT_LOOP = new EventLoop({
  elapsedMs: () => performance.now(),
  nextTurn,
  idle,
});

/**
 * Counts long work, so that other work gets its turn in between. Without such turns, work on bytes in memory, such as
 * inflating a body, never yields: each step follows the previous one as a microtask. Short work never waits.
 *
 * @example
 * ```ts
 * const turns = new LoopTurns();
 * for (const chunk of [new Uint8Array(10), new Uint8Array(20)]) {
 *   await turns.next();
 *   turns.count(chunk.length);
 * }
 * ```
 */
export class LoopTurns {
  readonly #loop: EventLoop;
  readonly #sinceMs: number;
  #bytes = 0;

  constructor(loop: EventLoop = EVENT_LOOP) {
    this.#loop = loop;
    this.#sinceMs = loop.elapsedMs();
  }

  /** Counts a chunk of `bytes` bytes. */
  count(bytes: number): void {
    this.#bytes += CHUNK_BYTES + bytes;
  }

  /** Waits before the next chunk when other work needs a turn; returns `undefined` when there is no need to wait. */
  next(): Promise<void> | undefined {
    if (this.#bytes < STEP_BYTES) return undefined;
    this.#bytes = 0;
    return this.#loop.turn(this.#sinceMs);
  }
}
