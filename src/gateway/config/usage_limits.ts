import type { CalendarWindow } from "@gateway/base/time/calendar";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { RateCondition } from "./schema/connection.ts";
import type { Renamed } from "./schema/renamed.ts";

/** A limit of a token or of a group. */
export type UsageLimit = AmountLimit | ShareLimit;

/**
 * The window of a limit: a calendar window, or the whole session. A session ends at most a day after its first request.
 */
export type LimitWindow = CalendarWindow | "session";

/** A number of requests, tokens or dollars in a window. */
export interface AmountLimit {
  readonly kind: "amount";
  /** Set when each session of a token has the amount for itself. Requests without a session do not count. */
  readonly per?: "session";
  readonly window: LimitWindow;
  readonly unit: LimitUnit;
  /** The amount in the limit's unit, as a whole number. A cost is in nano-dollars. */
  readonly most: number;
  /** The models whose usage counts, by their names in requests. `undefined` means all models. */
  readonly models: readonly string[] | undefined;
  /** The names of the connections whose usage counts. `undefined` means all connections. */
  readonly connections: readonly string[] | undefined;
}

/** Returns true when a limit counts the usage of the named model on the named connection. */
export function countsRow(
  { models, connections }: AmountLimit,
  { connection, model }: {
    readonly connection: string;
    readonly model: string;
  },
): boolean {
  return (models?.includes(model) ?? true) &&
    (connections?.includes(connection) ?? true);
}

/** The unit of an {@linkcode AmountLimit}. */
export type LimitUnit = typeof LIMIT_UNITS[number];

/** Every unit of an {@linkcode AmountLimit}, by the name of its option. */
export const LIMIT_UNITS = ["requests", "tokens", "cost"] as const;

/** A share of one window of a provider's quota. */
export interface ShareLimit {
  readonly kind: "share";
  /** The connection's name. */
  readonly connection: string;
  /** The window's length in words, such as `five_hour`, or type and length, such as `USAGE_LIMIT:opus weekly`. */
  readonly window: string;
  /** From 0 to 1. */
  readonly share: number;
}

/** Tokens that share limits, and what a token of the group may use if the token itself names nothing. */
export interface Group {
  readonly name: string;
  readonly limits: readonly UsageLimit[];
  /** The ids of the group's connections. `undefined` when the group names no connections. */
  readonly connectionIds?: ReadonlySet<string> | undefined;
  /** The ids of the group's models. `undefined` when the group does not restrict models. */
  readonly models?: ReadonlySet<string> | undefined;
  /** The regions that the group's members may reach. `undefined` means all regions. */
  readonly regions?: readonly string[] | undefined;
  /** `undefined` when the group does not set the number of running requests. */
  readonly maxConcurrent?: number | undefined;
  /** `undefined` when the group sets no weight. */
  readonly weight?: number | undefined;
}

/** Returns the names of groups as one text for the log; `undefined` when the list of groups is empty. */
export function groupText(groups: readonly Group[]): string | undefined {
  return groups.length === 0
    ? undefined
    : groups.map(({ name }) => name).join(", ");
}

/** Returns every limit on a token: the token's own limits, then the limits of its groups. */
export function limitsOn({ limits, groups }: {
  readonly limits: readonly UsageLimit[];
  readonly groups: readonly Group[];
}): readonly UsageLimit[] {
  return [...limits, ...groups.flatMap((group) => group.limits)];
}

/** The price of a model, in US dollars per million tokens. */
export interface Price extends Prices {
  /** Other prices for some answers. The first rate whose `when` holds applies. */
  readonly rates: readonly Rate[];
}

/** A price for each kind of token. */
export interface Prices {
  /** For input that is not read from a cache. */
  readonly input: number;
  /** For input read from a cache. */
  readonly cachedInput: number;
  /** For input written to a cache for five minutes. */
  readonly cacheWrite: number;
  /** For input written to a cache for an hour. */
  readonly cacheWrite1h: number;
  readonly output: number;
}

/** Hours of the day. The range may pass midnight. */
export interface DayHours {
  /** Minutes since midnight. */
  readonly from: number;
  /** Minutes since midnight, exclusive. */
  readonly to: number;
  /** A name of the IANA time zone database. */
  readonly timeZone: string;
}

/** The prices of answers that meet every condition of `when`. */
export interface Rate {
  readonly when: Omit<Renamed<RateCondition>, "hours"> & {
    readonly hours: DayHours | undefined;
  };
  readonly prices: Prices;
}

/**
 * Formats a limit in words, such as `5000000 tokens per day for model-a`. All names are from the configuration.
 *
 * @param row The model and the connection to name. Other models and connections of the limit are only counted, because
 * they may be many and unknown to the reader. Default: all are named.
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
  const { unit, most, window, per, models, connections } = limit;
  return [
    unit === "cost"
      ? `${most / NANOS_PER_DOLLAR} USD`
      : `${most} ${most === 1 ? unit.slice(0, -1) : unit}`,
    per === undefined || per === window
      ? `per ${window}`
      : `per ${per} and ${window}`,
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
