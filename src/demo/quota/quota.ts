import type { Clock } from "../../core/time/timers.ts";
import type { SimulatedFamily } from "../providers.ts";
import { createMeter, type Meter, type Reading } from "../meter.ts";
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
 * begun. They tell what was used; they never refuse.
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
