import {
  CALENDAR_WINDOWS,
  type CalendarWindow,
} from "../core/time/calendar.ts";
import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";

/** What a token, or a group of tokens, may use. */
export type UsageLimit = AmountLimit | ShareLimit;

/** So many requests, tokens or dollars in a window of the calendar. */
export interface AmountLimit {
  readonly kind: "amount";
  readonly window: CalendarWindow;
  readonly unit: LimitUnit;
  /** In the unit; of the cost in nano-dollars. A whole number. */
  readonly most: number;
  /** The models that it counts, as callers know them; `undefined` means all. */
  readonly models: readonly string[] | undefined;
  /** The names of the connections that it counts; `undefined` means all. */
  readonly connections: readonly string[] | undefined;
}

/** What an {@linkcode AmountLimit} counts. */
export type LimitUnit = typeof LIMIT_UNITS[number];

/** Every unit of an {@linkcode AmountLimit}, named as its option is. */
export const LIMIT_UNITS = ["requests", "tokens", "cost"] as const;

/** A share of one window of a provider's quota. */
export interface ShareLimit {
  readonly kind: "share";
  /** The connection's name. */
  readonly connection: string;
  /** Its length in words, such as `five_hour`; or type and length, such as `USAGE_LIMIT:opus weekly`. */
  readonly window: string;
  /** From 0 to 1. */
  readonly share: number;
}

/** Tokens whose limits bind them together. */
export interface Group {
  readonly name: string;
  readonly limits: readonly UsageLimit[];
}

/** What a model costs, in US dollars per million tokens. */
export interface Price extends Prices {
  /** Other prices for some answers; the first whose `when` holds counts. */
  readonly rates: readonly Rate[];
}

/** A price for each kind of token. */
export interface Prices {
  /** Of input that is read from no cache. */
  readonly input: number;
  /** Of input that is read from a cache. */
  readonly cachedInput: number;
  /** Of input that is written to a cache for five minutes. */
  readonly cacheWrite: number;
  /** Of input that is written to a cache for an hour. */
  readonly cacheWrite1h: number;
  readonly output: number;
}

/** What answers cost of which all of `when` holds. */
export interface Rate {
  readonly when: {
    /** The whole prompt has more tokens. */
    readonly inputOver: number | undefined;
    /** The speed that the answer names. */
    readonly speed: string | undefined;
    /** The service tier that the answer names. */
    readonly serviceTier: string | undefined;
  };
  readonly prices: Prices;
}

/**
 * A limit in words, such as `5000000 tokens per day for model-a`; names the configuration's own things alone.
 *
 * @param row Of the models and connections that the limit counts, those to name; the others are only told to be there,
 * since there may be very many, and some that whoever reads this does not know. Default: all.
 */
export function limitWords(
  limit: UsageLimit,
  row?: { readonly model: string; readonly connection: string },
): string {
  if (limit.kind === "share") {
    return `${
      percentOf(limit.share)
    } of ${limit.window} of ${limit.connection}`;
  }
  const { unit, most, window, models, connections } = limit;
  return [
    unit === "cost" ? `${most / NANOS_PER_DOLLAR} USD` : `${most} ${unit}`,
    `per ${window}`,
    ...(models === undefined ? [] : [`for ${namesIn(models, row?.model)}`]),
    ...(connections === undefined
      ? []
      : [`through ${namesIn(connections, row?.connection)}`]),
  ].join(" ");
}

function namesIn(names: readonly string[], one: string | undefined): string {
  if (one === undefined) return names.join(", ");
  return names.length === 1 ? one : `${one} and ${names.length - 1} more`;
}

function percentOf(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`;
}

/** Whether a text names a window of the calendar. */
export function isCalendarWindow(text: string): text is CalendarWindow {
  return CALENDAR_WINDOWS.some((one) => one === text);
}
