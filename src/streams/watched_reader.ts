import type { Deadlines } from "../core/deadlines.ts";
import { abandon } from "./discard.ts";
import { createIdleWatch } from "./idle_watch.ts";
import type { ByteReader } from "./look_ahead.ts";

/** A source was silent for longer than it may be while somebody read it. */
export class IdleError extends Error {
  override readonly name = "IdleError";

  constructor() {
    super("The upstream fell silent");
  }
}

/** What ends a reading, beside the source itself. */
export interface WatchedReaderOptions {
  readonly deadlines: Deadlines;
  /** How long the source may be silent while somebody reads, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Ends the reading when it aborts, even where the source does not notice. */
  readonly signal: AbortSignal;
}

/**
 * A reader that waits for its source no longer than it may; every chunk counts, an empty one too. A wait that is too
 * long throws {@linkcode IdleError}, and one that is cut the reason of the signal; the source is cancelled then.
 */
export function createWatchedReader(
  reader: ByteReader,
  { deadlines, idleMs, signal }: WatchedReaderOptions,
): ByteReader {
  let cut: { readonly reason: unknown } | undefined;
  const idle = createIdleWatch({
    deadlines,
    idleMs,
    onIdle: () => giveUp(new IdleError()),
  });

  function giveUp(reason: unknown): void {
    cut ??= { reason };
    stop();
    abandon(reader, reason);
  }

  function leave(): void {
    giveUp(signal.reason);
  }

  function stop(): void {
    idle.stop();
    signal.removeEventListener("abort", leave);
  }

  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });

  return {
    async read() {
      idle.wait();
      try {
        const read = await reader.read();
        if (cut !== undefined) throw cut.reason;
        idle.heard();
        if (read.done) stop();
        return read;
      } catch (cause) {
        stop();
        throw cut === undefined ? cause : cut.reason;
      }
    },
    cancel(reason) {
      stop();
      return reader.cancel(reason);
    },
  };
}
