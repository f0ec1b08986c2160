import { oncePer } from "@gateway/base/memo";
import type { Caller, Config } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import {
  type AmountLimit,
  countsRow,
  type Group,
  limitsOn,
  type LimitUnit,
  type ShareLimit,
  type UsageLimit,
} from "../config/usage_limits.ts";
import { type Counts, type Measure, tokensOf } from "./counts.ts";
import type { Counted } from "./sums.ts";
import {
  countsField,
  countsTable,
  type Holder,
  holderText,
  placedAt,
  type PlacedWindow,
  type Row,
  sessionHolder,
  sessionTable,
} from "./tables.ts";

/** A limit of a token or of one of its groups. */
export type Bound = AmountBound | ShareBound;

/** A limit on the usage in a window. */
export interface AmountBound {
  readonly kind: "amount";
  readonly limit: AmountLimit;
  readonly holder: Holder;
}

/** A limit on the usage of a provider's quota window. */
export interface ShareBound {
  readonly kind: "share";
  readonly limit: ShareLimit;
  readonly holder: Holder;
}

/** The part of a holder's usage that a limit counts in one window. */
export interface BoundUse extends Counted {
  readonly window: PlacedWindow;
}

/** The limits of each token and the usage that they count. */
export interface Bounds {
  /**
   * Returns the limits of a token, then the limits of the token's groups. The objects are the same until the
   * configuration changes.
   */
  of(caller: Caller): readonly Bound[];
  /** Returns the limits of a group. {@linkcode of} returns the same objects. */
  ofGroup(group: Group): readonly Bound[];
  /**
   * Returns the usage that a limit counts in the window that contains `atMs`, in milliseconds since 1970. If a session
   * has no life yet, its window begins at `atMs`.
   */
  useAt(bound: AmountBound, atMs: number): BoundUse;
}

/** The largest number of rows that are kept for connections and models that are no longer configured. */
const MAX_FORMER_ROWS = 10_000;

/** Returns true when a token or one of its groups has a limit. */
export function isBound({ limits, groups }: Caller): boolean {
  return limits.length > 0 || groups.some((group) => group.limits.length > 0);
}

/**
 * Returns the limit that counts a request. A limit per session becomes the limit of the request's session.
 *
 * @returns `undefined` for a limit per session when the request has no session.
 */
export function boundFor(
  bound: AmountBound,
  { name }: Caller,
  session: string | undefined,
): AmountBound | undefined {
  if (bound.limit.per === undefined) return bound;
  return session === undefined
    ? undefined
    : { ...bound, holder: sessionHolder(name, session) };
}

/** Returns true for a limit on all usage together, false for a limit on each session. */
export function isOfOne({ limit }: Bound): boolean {
  return limit.kind === "share" || limit.per === undefined;
}

/**
 * Returns true when a limit on tokens or cost applies to a caller. The tokens of the caller's answers must then be
 * counted.
 */
export function isMetered(caller: Caller): boolean {
  return limitsOn(caller).some((limit) =>
    limit.kind === "share" || limit.unit !== "requests"
  );
}

/** Creates the bounds of the configurations in use. */
export function createBounds(liveConfig: LiveConfig): Bounds {
  let latest = new WeakMap<AmountBound, BoundUse>();
  let rows = rowsOf(liveConfig.current());
  liveConfig.onSwap((config) => {
    rows = mergedRows(rowsOf(config), rows);
    latest = new WeakMap();
  });

  const ofGroup = oncePer(({ name, limits }: Group): readonly Bound[] =>
    limits.map(boundTo({ kind: "group", name }))
  );
  const of = oncePer(({ name, limits, groups }: Caller): readonly Bound[] => [
    ...limits.map(boundTo({ kind: "token", name })),
    ...groups.flatMap(ofGroup),
  ]);

  return {
    of,
    ofGroup,
    useAt(bound, atMs) {
      const known = latest.get(bound);
      if (known !== undefined && isIn(known.window, atMs)) return known;
      const { limit, holder } = bound;
      const window = placedAt(limit.window, atMs);
      const table = holder.kind === "session"
        ? sessionTable(window, holder)
        : { table: countsTable(window, holder), endsAtMs: window.endMs };
      const sums = fieldsOf(limit, rows).map((field) => ({ ...table, field }));
      const key = `${holderText(holder)}\t${countedBy(limit)}`;
      const found = { sums, key, window };
      latest.set(bound, found);
      return found;
    },
  };
}

function boundTo(holder: Holder): (limit: UsageLimit) => Bound {
  return (limit) =>
    limit.kind === "share"
      ? { kind: "share", limit, holder }
      : { kind: "amount", limit, holder };
}

function isIn({ startMs, endMs }: PlacedWindow, atMs: number): boolean {
  return atMs >= startMs && atMs < endMs;
}

/**
 * Returns a text that names the usage that a limit counts. Limits that differ only in window or maximum have the same
 * text.
 */
function countedBy({ unit, models, connections }: AmountLimit): string {
  return models === undefined && connections === undefined
    ? unit
    : `${unit}\t${JSON.stringify([models ?? null, connections ?? null])}`;
}

/** Returns the fields that a limit adds up in a table of counts. */
function fieldsOf(
  limit: AmountLimit,
  rows: ReadonlyMap<string, Row>,
): readonly string[] {
  const { unit, models, connections } = limit;
  if (models === undefined && connections === undefined) return [unit];
  return [...rows.values()].filter((row) => countsRow(limit, row))
    .flatMap((row) =>
      MEASURES_BY_UNIT[unit].map((one) => countsField(one, row))
    );
}

const MEASURES_BY_UNIT: Readonly<Record<LimitUnit, readonly Measure[]>> = {
  requests: ["requests"],
  tokens: ["input", "output"],
  cost: ["cost"],
};

/**
 * Returns a row for every model on every connection. The key of a row is a text with the names of connection and model.
 */
function rowsOf({ connections }: Config): ReadonlyMap<string, Row> {
  return new Map(
    connections.flatMap(({ name, models }) =>
      models.map(({ id }) => [
        `${name}\t${id}`,
        { connection: name, model: id },
      ])
    ),
  );
}

/**
 * Adds the former rows to the current ones. The usage of a connection then still counts after a reload removes the
 * connection.
 */
function mergedRows(
  current: ReadonlyMap<string, Row>,
  former: ReadonlyMap<string, Row>,
): ReadonlyMap<string, Row> {
  const gone = [...former].filter(([key]) => !current.has(key));
  return new Map([...current, ...gone.slice(0, MAX_FORMER_ROWS)]);
}

/** Returns a limit in a few words for metrics, such as `tokens day`, without its maximum. */
export function boundLabel({ limit }: Bound): string {
  if (limit.kind === "share") return `share ${limit.window}`;
  const { unit, per = "", window } = limit;
  return [...new Set([unit, per, window])].filter(Boolean).join(" ");
}

/** Returns the counted requests, tokens or nano-dollars, depending on the unit. */
export function amountOf(unit: LimitUnit, counts: Counts): number {
  return unit === "tokens" ? tokensOf(counts) : counts[unit] ?? 0;
}
