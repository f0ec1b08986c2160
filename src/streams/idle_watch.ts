import type { Deadlines, TakeBack } from "../core/deadlines.ts";

/** Tells when something that is waited for has been silent too long. */
export interface IdleWatch {
  /** Waiting begins. */
  wait(): void;
  /** What was waited for has come. */
  heard(): void;
  /** Ends the watch. */
  stop(): void;
}

/** What an {@linkcode IdleWatch} watches for. */
export interface IdleWatchOptions {
  readonly deadlines: Deadlines;
  /** How long one wait may last, in milliseconds; 0 means for ever. */
  readonly idleMs: number;
  /** Called at most once. */
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
  let waitingSince: number | undefined;

  function look(): void {
    takeBack = undefined;
    if (waitingSince === undefined) return;
    const restMs = waitingSince + idleMs - deadlines.elapsedMs();
    if (restMs <= 0) onIdle();
    else takeBack = deadlines.start(restMs, look);
  }

  return {
    wait() {
      if (idleMs === 0) return;
      waitingSince = deadlines.elapsedMs();
      takeBack ??= deadlines.start(idleMs, look);
    },
    heard() {
      waitingSince = undefined;
    },
    stop() {
      waitingSince = undefined;
      takeBack?.();
      takeBack = undefined;
    },
  };
}
