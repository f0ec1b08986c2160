import type { Cancel, Deadlines } from "../core/time/deadlines.ts";
import { abandon, type ByteReader } from "./byte_reader.ts";

/** A source was silent for longer than it may be while somebody read it. */
export class IdleError extends Error {
  override readonly name = "IdleError";

  constructor() {
    super("The upstream fell silent");
  }
}

/** What ends a reading, beside the source itself. */
export interface ReadingWatchOptions {
  readonly deadlines: Deadlines;
  /** How long the source may be silent while somebody reads, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Ends the reading when it aborts, even where the source does not notice. */
  readonly signal: AbortSignal;
}

/**
 * Waits for what is read of a source no longer than it may; every chunk counts, an empty one too. The source is
 * cancelled when a wait is too long or the signal aborts.
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
   * Waits for a read that has begun. The watch is over with the last one, which is done or throws.
   *
   * @throws {IdleError} When it takes too long.
   * @throws The reason of the signal when that aborts, and whatever the source throws.
   */
  waitFor<Read extends { readonly done: boolean }>(
    reading: Promise<Read>,
  ): Promise<Read> {
    this.#idle.wait();
    return reading.then(this.#hear, this.#fail);
  }

  /** Ends the watch: nothing more is read. */
  stop(): void {
    this.#idle.stop();
    this.#signal.removeEventListener("abort", this.#leave);
  }

  readonly #hear = <Read extends { readonly done: boolean }>(
    read: Read,
  ): Read => {
    if (this.#cut !== undefined) throw this.#cut.reason;
    this.#idle.heard();
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

/** A reader that is watched as {@linkcode ReadingWatch} says, from the beginning to its end. */
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

/** Tells when something that is waited for has been silent too long. */
interface IdleWatch {
  /** Waiting begins, or begins again. */
  wait(): void;
  /** What was waited for has come. */
  heard(): void;
  /** Ends the watch; nothing begins it again. */
  stop(): void;
}

/** What an {@linkcode IdleWatch} watches for. */
interface IdleWatchOptions {
  readonly deadlines: Deadlines;
  /** How long one wait may last, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Called once for each wait that lasts too long, which is over then; may begin another one. */
  readonly onIdle: () => void;
}

/**
 * A deadline between two chunks that costs one timer a stream instead of one a chunk: when it passes, it
 * looks when the current wait began and, if that is too recent, runs on for the rest.
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
    heard() {
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
