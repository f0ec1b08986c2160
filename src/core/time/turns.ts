import { setImmediate } from "node:timers";

/** How long work runs before the event loop reads from its sockets again, in milliseconds. */
const SLICE_MS = 20;

/** So much work needs no look at the clock, in bytes. */
export const STEP_BYTES: number = 64 * 1024;

/** What a chunk costs beside its bytes, in bytes: one of a single byte takes as long as one of 256. */
const CHUNK_BYTES = 256;

/** What {@linkcode EventLoop} needs of the platform; tests inject their own. */
interface EventLoopOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly elapsedMs: () => number;
  /** Runs what is due already. */
  readonly nextTurn: () => Promise<void>;
  /** Waits until the event loop has had nothing to do, and so has read from its sockets. */
  readonly idle: () => Promise<void>;
}

/** Divides the time of a thread between long work and everything else. */
export class EventLoop {
  readonly #options: EventLoopOptions;
  #pause: Promise<void> | undefined;
  #pausedMs = 0;

  constructor(options: EventLoopOptions) {
    this.#options = options;
  }

  /** Milliseconds on a clock that never jumps. */
  elapsedMs(): number {
    return this.#options.elapsedMs();
  }

  /**
   * Lets others run between two steps of long work. All long work pauses together: while some of it runs on, the event
   * loop is never idle.
   *
   * @param sinceMs When the work began, on the clock of {@linkcode EventLoop.elapsedMs}.
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

/** What a socket brings is answered within so many turns: it is read, a handler runs, what that says is written. */
const TURNS_TO_ANSWER = 8;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Deno reads from its sockets when nothing is due, else in one turn of 61 (tokio's `event_interval`): a timer leaves time
 * for that, an immediate does not.
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
 * Counts long work, so that everything else has its turn in between. Bytes that are there already, such as those of a
 * body that is being inflated, give nobody a turn by themselves: each step follows the one before as a microtask.
 * Short work never waits.
 *
 * @example
 * ```ts
 * const turns = new Turns();
 * for (const chunk of [new Uint8Array(10), new Uint8Array(20)]) {
 *   await turns.next();
 *   turns.count(chunk.length);
 * }
 * ```
 */
export class Turns {
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

  /** Waits before the next chunk where others are to have their turn; `undefined` where there is no need to wait. */
  next(): Promise<void> | undefined {
    if (this.#bytes < STEP_BYTES) return undefined;
    this.#bytes = 0;
    return this.#loop.turn(this.#sinceMs);
  }
}
