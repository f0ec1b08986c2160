import type { Deadlines } from "../core/time/deadlines.ts";
import { createIdleWatch } from "./idle_watch.ts";

/** Whoever takes nothing for ten minutes will not take the rest either, in milliseconds. */
export const STALL_MS = 600_000;

/** Tells when somebody who is given something takes nothing any more. */
export interface StallWatch {
  /** More is asked for: all that was given is taken. */
  asked(): void;
  /** Something is given. */
  given(): void;
  /** What was asked for is given, and nothing more comes until more is asked for. */
  answered(): void;
  /** Ends the watch. */
  stop(): void;
}

/** What a {@linkcode StallWatch} watches for. */
export interface StallWatchOptions {
  readonly deadlines: Deadlines;
  /** How long nothing may be taken, in milliseconds; default {@linkcode STALL_MS}. */
  readonly stallMs?: number | undefined;
  /** Whether nothing lies there: what a waiting reader takes is taken without being asked for. */
  readonly isAllTaken: () => boolean;
  readonly onStall: () => void;
}

/** A watch that runs from the first that is not taken; what is given meanwhile changes nothing. */
export function createStallWatch(
  { deadlines, stallMs = STALL_MS, isAllTaken, onStall }: StallWatchOptions,
): StallWatch {
  let isRunning = false;
  let isAsked = false;
  const watch = createIdleWatch({
    deadlines,
    idleMs: stallMs,
    onIdle() {
      isRunning = false;
      if (!isAsked || !isAllTaken()) onStall();
    },
  });

  function given(): void {
    if (!isRunning) watch.wait();
    isRunning = true;
  }

  return {
    asked() {
      isAsked = true;
      isRunning = false;
      watch.heard();
    },
    given,
    answered() {
      isAsked = false;
      if (isAllTaken()) isRunning = false;
      given();
    },
    stop: watch.stop,
  };
}
