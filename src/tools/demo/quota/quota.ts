import { mapValues } from "@gateway/base/std";
import type { Clock } from "@gateway/base/time/timers";
import type { SimulatedFamily } from "../providers.ts";
import type { Usage } from "@gateway/codecs";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The number of tokens that cost one credit. Each exchange costs one credit more, so that even a few short exchanges
 * are visible in the quota.
 */
const TOKENS_PER_CREDIT = 100;

/** The quotas of the three simulated connections. */
export interface Quota {
  /** Charges an exchange to the account of `family`. */
  spend(family: SimulatedFamily, usage: Usage): void;
  read(family: SimulatedFamily): AccountReading;
}

/** The windows of one account, in credits. */
export interface AccountReading {
  readonly fiveHour: CreditReading;
  readonly weekly: CreditReading;
}

/** The size of each account's five-hour window, and the age of its week. */
const ACCOUNTS: Readonly<
  Record<SimulatedFamily, { readonly limit: number; readonly daysOld: number }>
> = {
  A: { limit: 2000, daysOld: 4 },
  B: { limit: 1000, daysOld: 2 },
  C: { limit: 1500, daysOld: 5 },
};

/**
 * Creates accounts that are already in use: the week of each account is some days old, and the five-hour window has not
 * begun. The accounts report their use, and never reject a request.
 */
export function createQuota(clock: Clock): Quota {
  const accounts = mapValues(ACCOUNTS, ({ limit, daysOld }) => ({
    fiveHour: createCreditWindow({
      ...{ clock, limit, othersPerHour: 40 },
      lengthMs: 5 * HOUR_MS,
    }),
    weekly: createCreditWindow({
      ...{ clock, limit: limit * 5, othersPerHour: 30 },
      lengthMs: 7 * DAY_MS,
      begunMsAgo: daysOld * DAY_MS,
    }),
  }));
  return {
    spend(family, { inputTokens, outputTokens }) {
      const credits = 1 + (inputTokens + outputTokens) / TOKENS_PER_CREDIT;
      accounts[family].fiveHour.spend(credits);
      accounts[family].weekly.spend(credits);
    },
    read: (family) => mapValues(accounts[family], (window) => window.read()),
  };
}

/** The current state of a quota's window. */
export interface CreditReading {
  readonly limit: number;
  /** The used credits, with fractions; may exceed the limit. */
  readonly used: number;
  /** The end of the window, in milliseconds since 1970; `undefined` while the window has not begun. */
  readonly resetsAtMs: number | undefined;
}

/** A count of the credits used in a window of fixed length. The count is reset at the window's end. */
interface CreditWindow {
  /** Uses `credits` now; begins the window if it has not begun. */
  spend(credits: number): void;
  read(): CreditReading;
}

/** The options of a window. */
interface CreditWindowOptions {
  readonly clock: Clock;
  readonly lengthMs: number;
  /** The credits of a window. */
  readonly limit: number;
  /** The credits per hour that other users of the account spend. */
  readonly othersPerHour: number;
  /** The age that the first window already has, in milliseconds. If `undefined`, a window begins with the first use. */
  readonly begunMsAgo?: number;
}

/**
 * Creates a count of used credits. The count grows with each use, and with time as if other users spent credits of the
 * same account. The end of a window resets the count. No use is ever rejected.
 */
export function createCreditWindow(
  { clock, lengthMs, limit, othersPerHour, begunMsAgo }: CreditWindowOptions,
): CreditWindow {
  let begunMs = begunMsAgo === undefined ? undefined : clock.now() - begunMsAgo;
  let own = 0;

  const resetAfterWindow = () => {
    const ageMs = clock.now() - (begunMs ?? Infinity);
    if (begunMs === undefined || ageMs < lengthMs) return;
    own = 0;
    begunMs = begunMsAgo === undefined
      ? undefined
      : clock.now() - ageMs % lengthMs;
  };

  return {
    spend(credits) {
      resetAfterWindow();
      begunMs ??= clock.now();
      own += credits;
    },
    read() {
      resetAfterWindow();
      const resetsAtMs = begunMs && begunMs + lengthMs;
      const hours = (clock.now() - (begunMs ?? clock.now())) / HOUR_MS;
      return { limit, used: own + othersPerHour * hours, resetsAtMs };
    },
  };
}
