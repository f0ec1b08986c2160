/** Tells when something that is waited for has been silent too long. */
export interface IdleWatch {
  /** Waiting begins. */
  wait(): void;
  /** What was waited for has come. */
  heard(): void;
  /** Ends the watch and frees its timer. */
  stop(): void;
}

/**
 * A deadline between two chunks that costs one timer a stream instead of one a chunk: the timer looks when
 * the current wait began and, if that is too recent, sleeps for the rest.
 *
 * @param idleMs How long one wait may last; 0 means for ever.
 * @param onIdle Called at most once.
 */
export function createIdleWatch(
  idleMs: number,
  onIdle: () => void,
): IdleWatch {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitingSince: number | undefined;

  function arm(delayMs: number): void {
    timer = setTimeout(look, delayMs);
  }

  function look(): void {
    timer = undefined;
    if (waitingSince === undefined) return;
    const restMs = waitingSince + idleMs - performance.now();
    if (restMs <= 0) onIdle();
    else arm(restMs);
  }

  return {
    wait() {
      if (idleMs === 0) return;
      waitingSince = performance.now();
      if (timer === undefined) arm(idleMs);
    },
    heard() {
      waitingSince = undefined;
    },
    stop() {
      waitingSince = undefined;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
