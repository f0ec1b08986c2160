import type { Clock } from "../core/time/timers.ts";

const HOUR_MS = 3_600_000;

/** A window of a quota as it stands now. */
export interface Reading {
  readonly limit: number;
  /** Credits, with fractions; may exceed the limit. */
  readonly used: number;
  /** Milliseconds since 1970; `undefined` while the window has not begun. */
  readonly resetsAtMs: number | undefined;
}

/** Credits that are used up within a window of fixed length, which then begins anew. */
export interface Meter {
  /** Uses `credits` now; begins the window when it has not begun. */
  spend(credits: number): void;
  read(): Reading;
}

/** How a window behaves. */
export interface MeterOptions {
  readonly clock: Clock;
  readonly lengthMs: number;
  /** Credits a window. */
  readonly limit: number;
  /** Credits an hour that other clients of the same account use. */
  readonly othersPerHour: number;
  /** How long ago the first window began; `undefined` lets it begin with the first use. */
  readonly begunMsAgo?: number;
}

/**
 * A meter whose numbers move with use and with time: others use the same account, and a window that is over
 * takes its use along. It never refuses anything.
 */
export function createMeter(options: MeterOptions): Meter {
  const { clock, lengthMs, limit, othersPerHour, begunMsAgo } = options;
  let begunMs = begunMsAgo === undefined ? undefined : clock.now() - begunMsAgo;
  let own = 0;

  const forgetWhatIsOver = () => {
    if (begunMs === undefined || clock.now() < begunMs + lengthMs) return;
    own = 0;
    const windowsOver = Math.floor((clock.now() - begunMs) / lengthMs);
    begunMs = begunMsAgo === undefined
      ? undefined
      : begunMs + windowsOver * lengthMs;
  };

  return {
    spend(credits) {
      forgetWhatIsOver();
      begunMs ??= clock.now();
      own += credits;
    },
    read() {
      forgetWhatIsOver();
      if (begunMs === undefined) {
        return { limit, used: 0, resetsAtMs: undefined };
      }
      const hours = (clock.now() - begunMs) / HOUR_MS;
      return {
        limit,
        used: own + othersPerHour * hours,
        resetsAtMs: begunMs + lengthMs,
      };
    },
  };
}

/** The part of the limit that is used; may exceed 1. */
export function usedFraction({ used, limit }: Reading): number {
  return used / limit;
}
