import type { Deadlines, TakeBack } from "../core/time/deadlines.ts";

/** Tells when something that is waited for has been silent too long. */
export interface IdleWatch {
  /** Waiting begins, or begins again. */
  wait(): void;
  /** What was waited for has come. */
  heard(): void;
  /** Ends the watch; nothing begins it again. */
  stop(): void;
}

/** What an {@linkcode IdleWatch} watches for. */
export interface IdleWatchOptions {
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
  let takeBack: TakeBack | undefined;
  let waitingSinceMs: number | undefined;
  let stopped = idleMs === 0;

  function look(): void {
    takeBack = undefined;
    if (waitingSinceMs === undefined) return;
    const restMs = waitingSinceMs + idleMs - deadlines.elapsedMs();
    if (restMs > 0) {
      takeBack = deadlines.start(restMs, look);
    } else {
      waitingSinceMs = undefined;
      onIdle();
    }
  }

  return {
    wait() {
      if (stopped) return;
      waitingSinceMs = deadlines.elapsedMs();
      takeBack ??= deadlines.start(idleMs, look, waitingSinceMs);
    },
    heard() {
      waitingSinceMs = undefined;
    },
    stop() {
      stopped = true;
      waitingSinceMs = undefined;
      takeBack?.();
      takeBack = undefined;
    },
  };
}
