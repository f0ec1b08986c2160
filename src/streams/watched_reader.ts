import type { Cancel, Deadlines } from "../core/time/deadlines.ts";
import { abandon, type ByteReader } from "./byte_reader.ts";

/** The error for a source that was silent for longer than its idle timeout. */
export class IdleError extends Error {
  override readonly name = "IdleError";

  constructor() {
    super("The upstream fell silent");
  }
}

/** The options of {@linkcode ReadingWatch}. */
export interface ReadingWatchOptions {
  readonly deadlines: Deadlines;
  /** The idle timeout while a read waits, in milliseconds; 0 means none. */
  readonly idleMs: number;
  /** Ends the reading when it aborts, even if the source does not react. */
  readonly signal: AbortSignal;
}

/**
 * Applies an idle timeout to the reads of a source; each chunk restarts it, even an empty one. After the timeout, or
 * when the signal aborts, the source is cancelled.
 */
export class ReadingWatch {
  readonly #source: Pick<ByteReader, "cancel">;
  readonly #signal: AbortSignal;
  readonly #idle: IdleWatch;
  readonly #leave = () => this.#giveUp(this.#signal.reason);
  #cut: { readonly reason: unknown } | undefined;

  constructor(
    source: Pick<ByteReader, "cancel">,
    { deadlines, idleMs, signal }: ReadingWatchOptions,
  ) {
    this.#source = source;
    this.#signal = signal;
    this.#idle = createIdleWatch({
      deadlines,
      idleMs,
      onIdle: () => this.#giveUp(new IdleError()),
    });
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  /**
   * Waits for a read that has begun. The watch ends with a read that is done or throws.
   *
   * @throws {IdleError} After the idle timeout.
   * @throws The reason of the signal when that aborts, and the errors of the source.
   */
  waitFor<Read extends { readonly done: boolean }>(
    reading: Promise<Read>,
  ): Promise<Read> {
    this.#idle.wait();
    return reading.then(this.#receive, this.#fail);
  }

  /** Ends the watch: nothing more is read. */
  stop(): void {
    this.#idle.stop();
    this.#signal.removeEventListener("abort", this.#leave);
  }

  readonly #receive = <Read extends { readonly done: boolean }>(
    read: Read,
  ): Read => {
    if (this.#cut !== undefined) throw this.#cut.reason;
    this.#idle.endWait();
    if (read.done) this.stop();
    return read;
  };

  readonly #fail = (cause: unknown): never => {
    this.stop();
    throw this.#cut === undefined ? cause : this.#cut.reason;
  };

  #giveUp(reason: unknown): void {
    this.#cut ??= { reason };
    this.stop();
    abandon(this.#source, reason);
  }
}

/** Creates a reader that a {@linkcode ReadingWatch} watches from the beginning to its end. */
export function createWatchedReader(
  reader: ByteReader,
  options: ReadingWatchOptions,
): ByteReader {
  const watch = new ReadingWatch(reader, options);
  return {
    read: () => watch.waitFor(reader.read()),
    cancel(reason) {
      watch.stop();
      return reader.cancel(reason);
    },
  };
}

/** Detects a wait that takes too long. */
interface IdleWatch {
  /** Starts or restarts the wait. */
  wait(): void;
  /** Ends the wait. */
  endWait(): void;
  /** Ends the watch for good. */
  stop(): void;
}

interface IdleWatchOptions {
  readonly deadlines: Deadlines;
  /** The longest wait, in milliseconds; 0 means no limit. */
  readonly idleMs: number;
  /** Called once for each wait that takes too long. It may start another one. */
  readonly onIdle: () => void;
}

/**
 * Creates a watch with one timer for each stream instead of one for each chunk. When the timer fires, it runs again for
 * the rest of the current wait.
 */
export function createIdleWatch(
  { deadlines, idleMs, onIdle }: IdleWatchOptions,
): IdleWatch {
  let cancel: Cancel | undefined;
  let waitingSinceMs: number | undefined;
  let stopped = idleMs === 0;

  function look(): void {
    cancel = undefined;
    if (waitingSinceMs === undefined) return;
    const restMs = waitingSinceMs + idleMs - deadlines.elapsedMs();
    if (restMs > 0) {
      cancel = deadlines.start(restMs, look);
    } else {
      waitingSinceMs = undefined;
      onIdle();
    }
  }

  return {
    wait() {
      if (stopped) return;
      waitingSinceMs = deadlines.elapsedMs();
      cancel ??= deadlines.start(idleMs, look, waitingSinceMs);
    },
    endWait() {
      waitingSinceMs = undefined;
    },
    stop() {
      stopped = true;
      waitingSinceMs = undefined;
      cancel?.();
      cancel = undefined;
    },
  };
}
