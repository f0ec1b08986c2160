/** What deadlines go by; tests inject their own. */
export interface Timers {
  /** Milliseconds on a clock that never jumps. */
  elapsedMs(): number;
  /**
   * Calls `onRing` once, after about `delayMs` milliseconds.
   *
   * @param delayMs From 0 up to 24 days.
   * @returns Takes the timer back; does nothing when it has rung.
   */
  ring(delayMs: number, onRing: () => void): () => void;
}

/** The timers of this machine. */
export const systemTimers: Timers = {
  elapsedMs: () => performance.now(),
  ring(delayMs, onRing) {
    const timer = setTimeout(onRing, delayMs);
    return () => clearTimeout(timer);
  },
};
