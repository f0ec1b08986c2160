import type { Cancel, Deadlines } from "../time/deadlines.ts";
import {
  abandon,
  type ByteRead,
  type ByteReader,
  type ReadChange,
} from "./byte_reader.ts";

/** The error for a source that was silent for longer than its idle timeout. */
export class IdleError extends Error {
  override readonly name = "IdleError";

  constructor() {
    super("The upstream fell silent");
  }
}

/** The options of a {@linkcode WatchedReader}. */
interface WatchOptions {
  readonly deadlines: Deadlines;
  /** The idle timeout while a read waits, in milliseconds; 0 means none. */
  readonly idleMs: number;
  /** Ends the reading when it aborts, even if the source does not react. */
  readonly signal: AbortSignal;
}

/**
 * Applies an idle timeout to the reads of a source. Each chunk restarts the timeout, even an empty chunk. After the
 * timeout, or when the signal aborts, the source is cancelled. The watch ends with a read that is done or throws.
 *
 * A read throws {@linkcode IdleError} after the timeout, the reason of the signal when that aborts, and the errors of
 * the source.
 */
export class WatchedReader implements ByteReader {
  readonly #source: ByteReader;
  readonly #signal: AbortSignal;
  readonly #idle: IdleWatch;
  readonly #change: ReadChange;
  readonly #leave = () => this.#giveUp(this.#signal.reason);
  #cut: { readonly reason: unknown } | undefined;

  /** @param change Changes each read; default: none. */
  constructor(
    source: ByteReader,
    { deadlines, idleMs, signal }: WatchOptions,
    change: ReadChange = (read) => read,
  ) {
    this.#source = source;
    this.#change = change;
    this.#signal = signal;
    this.#idle = createIdleWatch({
      deadlines,
      idleMs,
      onIdle: () => this.#giveUp(new IdleError()),
    });
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  read(): Promise<ByteRead> {
    const reading = this.#source.read();
    this.#idle.wait();
    return reading.then(this.#receive, this.#fail);
  }

  cancel(reason?: unknown): Promise<void> {
    this.#stop();
    return this.#source.cancel(reason);
  }

  #stop(): void {
    this.#idle.stop();
    this.#signal.removeEventListener("abort", this.#leave);
  }

  readonly #receive = (read: ByteRead): ByteRead => {
    if (this.#cut !== undefined) throw this.#cut.reason;
    this.#idle.endWait();
    if (read.done) this.#stop();
    return this.#change(read);
  };

  readonly #fail = (cause: unknown): never => {
    this.#stop();
    throw this.#cut === undefined ? cause : this.#cut.reason;
  };

  #giveUp(reason: unknown): void {
    this.#cut ??= { reason };
    this.#stop();
    abandon(this.#source, reason);
  }
}

/** Detects a wait that takes too long. */
export interface IdleWatch {
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
  /** Called once for each wait that takes too long. The function may start another wait. */
  readonly onIdle: () => void;
}

/**
 * Creates a watch with one timer for each stream instead of one timer for each chunk. When the timer fires during a
 * later wait, it runs again for the rest of that wait.
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
