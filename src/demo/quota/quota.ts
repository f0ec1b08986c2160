import type { Clock } from "../../core/time/timers.ts";
import type { SimulatedFamily } from "../providers.ts";
import type { Usage } from "../script.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** What an exchange costs, so that a few of them show: one credit, and one more for every 100 tokens. */
const TOKENS_PER_CREDIT = 100;

/** The quotas of the three simulated accounts. */
export interface Quota {
  /** Charges an exchange to the account of `family`. */
  spend(family: SimulatedFamily, usage: Usage): void;
  read(family: SimulatedFamily): AccountReading;
}

/** The windows of one account. */
export type AccountReading = Readonly<Record<keyof Account, Reading>>;

interface Account {
  /** Credits. */
  readonly fiveHour: Meter;
  /** Credits. */
  readonly weekly: Meter;
  /** Requests a minute. */
  readonly requests: Meter;
  /** Tokens a minute. */
  readonly tokens: Meter;
}

/**
 * Accounts that are in use already: a week that is some days old, and a five-hour window that has not
 * begun. They report what was used; they never refuse.
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
    fiveHour: createMeter({
      clock,
      lengthMs: 5 * HOUR_MS,
      limit: fiveHourLimit,
      othersPerHour: 40,
    }),
    weekly: createMeter({
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

function createRate(clock: Clock, limit: number): Meter {
  return createMeter({ clock, lengthMs: MINUTE_MS, limit, othersPerHour: 0 });
}

/** A window of a quota as it stands now. */
export interface Reading {
  readonly limit: number;
  /** Credits, with fractions; may exceed the limit. */
  readonly used: number;
  /** Milliseconds since 1970; `undefined` while the window has not begun. */
  readonly resetsAtMs: number | undefined;
}

/** Credits that are used up within a window of fixed length, which then begins again. */
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
