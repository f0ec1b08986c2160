import type { Clock } from "@gateway/base/time/timers";
import type { SimulatedFamily } from "../providers.ts";
import type { Usage } from "@gateway/codecs";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The tokens of one credit. An exchange costs one credit more, so that a few exchanges are visible in the quota. */
const TOKENS_PER_CREDIT = 100;

/** The quotas of the three simulated connections. */
export interface Quota {
  /** Charges an exchange to the account of `family`. */
  spend(family: SimulatedFamily, usage: Usage): void;
  read(family: SimulatedFamily): AccountReading;
}

/** The windows of one account. */
export type AccountReading = Readonly<Record<keyof Account, CreditReading>>;

interface Account {
  /** Credits. */
  readonly fiveHour: CreditWindow;
  /** Credits. */
  readonly weekly: CreditWindow;
  /** Requests a minute. */
  readonly requests: CreditWindow;
  /** Tokens a minute. */
  readonly tokens: CreditWindow;
}

/**
 * Creates accounts that are already in use: their week is some days old, and their five-hour window has not begun. They
 * report their use, and never reject a request.
 */
export function createQuota(clock: Clock): Quota {
  const accounts: Readonly<Record<SimulatedFamily, Account>> = {
    A: createAccount(clock, { fiveHourLimit: 2000, daysOld: 4 }),
    B: createAccount(clock, { fiveHourLimit: 1000, daysOld: 2 }),
    C: createAccount(clock, { fiveHourLimit: 1500, daysOld: 5 }),
  };
  return {
    spend(family, usage) {
      const tokens = usage.inputTokens + usage.outputTokens;
      const credits = 1 + tokens / TOKENS_PER_CREDIT;
      const account = accounts[family];
      account.fiveHour.spend(credits);
      account.weekly.spend(credits);
      account.requests.spend(1);
      account.tokens.spend(tokens);
    },
    read(family) {
      const account = accounts[family];
      return {
        fiveHour: account.fiveHour.read(),
        weekly: account.weekly.read(),
        requests: account.requests.read(),
        tokens: account.tokens.read(),
      };
    },
  };
}

function createAccount(
  clock: Clock,
  options: { readonly fiveHourLimit: number; readonly daysOld: number },
): Account {
  const { fiveHourLimit, daysOld } = options;
  return {
    fiveHour: createCreditWindow({
      clock,
      lengthMs: 5 * HOUR_MS,
      limit: fiveHourLimit,
      othersPerHour: 40,
    }),
    weekly: createCreditWindow({
      clock,
      lengthMs: 7 * DAY_MS,
      limit: fiveHourLimit * 5,
      othersPerHour: 30,
      begunMsAgo: daysOld * DAY_MS,
    }),
    requests: createRate(clock, 600),
    tokens: createRate(clock, 1_000_000),
  };
}

function createRate(clock: Clock, limit: number): CreditWindow {
  return createCreditWindow({
    clock,
    lengthMs: MINUTE_MS,
    limit,
    othersPerHour: 0,
  });
}

/** The current state of a quota's window. */
export interface CreditReading {
  readonly limit: number;
  /** Credits, with fractions; may exceed the limit. */
  readonly used: number;
  /** Milliseconds since 1970; `undefined` while the window has not begun. */
  readonly resetsAtMs: number | undefined;
}

/** A count of used credits in a window of fixed length, which is then reset. */
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
  /** The age of the first window, in milliseconds; `undefined` lets it begin with the first use. */
  readonly begunMsAgo?: number;
}

/**
 * Creates a meter whose numbers change with use and with time: others use the same account, and the end of a window
 * resets the use. It never rejects a request.
 */
export function createCreditWindow(options: CreditWindowOptions): CreditWindow {
  const { clock, lengthMs, limit, othersPerHour, begunMsAgo } = options;
  let begunMs = begunMsAgo === undefined ? undefined : clock.now() - begunMsAgo;
  let own = 0;

  const resetAfterWindow = () => {
    if (begunMs === undefined || clock.now() < begunMs + lengthMs) return;
    own = 0;
    const windowsOver = Math.floor((clock.now() - begunMs) / lengthMs);
    begunMs = begunMsAgo === undefined
      ? undefined
      : begunMs + windowsOver * lengthMs;
  };

  return {
    spend(credits) {
      resetAfterWindow();
      begunMs ??= clock.now();
      own += credits;
    },
    read() {
      resetAfterWindow();
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

/** Returns the used part of the limit; it may exceed 1. */
export function usedFraction({ used, limit }: CreditReading): number {
  return used / limit;
}
