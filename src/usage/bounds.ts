import type { Caller, Config } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import type {
  AmountLimit,
  Group,
  LimitUnit,
  ShareLimit,
  UsageLimit,
} from "../config/usage_limits.ts";
import type { Clock } from "../core/time/clock.ts";
import { type Counts, type Measure, tokensOf } from "./counts.ts";
import type { Sum, Sums } from "./sums.ts";
import {
  COUNTED_WINDOWS,
  countsField,
  countsTable,
  type Holder,
  limitsTable,
  placedAt,
  type PlacedWindow,
  type Row,
  sumIn,
} from "./tables.ts";

/** A limit of a token or of its group. */
export type Bound = AmountBound | ShareBound;

/** A limit on what is used in a window of the calendar. */
export interface AmountBound {
  readonly kind: "amount";
  readonly limit: AmountLimit;
  readonly holder: Holder;
}

/** A limit on what is used of a provider's window. */
export interface ShareBound {
  readonly kind: "share";
  readonly limit: ShareLimit;
  readonly holder: Holder;
}

/** What a limit counts in one window. */
export interface BoundSum {
  readonly sum: Sum;
  readonly window: PlacedWindow;
}

/** Knows what binds each token, and where it is summed up. */
export interface Bounds {
  /** A token's own limits, then its group's. The same objects each time, until another configuration comes. */
  of(caller: Caller): readonly Bound[];
  /** The sum of a limit in the window that a moment lies in, which holds what was used before the limit was there. */
  sumAt(bound: AmountBound, atMs: number): BoundSum;
}

/** What {@linkcode createBounds} needs. */
export interface BoundsOptions {
  readonly sums: Pick<Sums, "begin" | "read">;
  readonly store: ConfigStore;
  readonly clock: Pick<Clock, "now">;
}

/** Whether anything limits what a token uses. */
export function isBound({ limits, group }: Caller): boolean {
  return limits.length > 0 || group !== undefined && group.limits.length > 0;
}

/** Nothing is known of any limit yet. */
export function createBounds(
  { sums, store, clock }: BoundsOptions,
): Bounds {
  const byCaller = new WeakMap<Caller, readonly Bound[]>();
  const byGroup = new WeakMap<Group, readonly Bound[]>();
  const latest = new WeakMap<AmountBound, BoundSum>();
  let configuredMs = clock.now();
  store.onSwap(() => configuredMs = clock.now());

  function boundsOf(caller: Caller): readonly Bound[] {
    const own = caller.limits.map(
      boundTo({ kind: "token", name: caller.name }),
    );
    const { group } = caller;
    if (group === undefined) return own;
    const shared = byGroup.get(group) ??
      group.limits.map(boundTo({ kind: "group", name: group.name }));
    byGroup.set(group, shared);
    return [...own, ...shared];
  }

  /** A window that began under another configuration may have counts that no limit has seen. */
  function begin(bound: AmountBound, { sum, window }: BoundSum): void {
    if (window.startMs > configuredMs) return;
    const amount = countedBefore(bound, window, {
      sums,
      config: store.current(),
    });
    if (amount > 0) sums.begin([{ sum, amount }]);
  }

  return {
    of(caller) {
      const known = byCaller.get(caller);
      if (known !== undefined) return known;
      const bounds = boundsOf(caller);
      byCaller.set(caller, bounds);
      return bounds;
    },
    sumAt(bound, atMs) {
      const known = latest.get(bound);
      if (known !== undefined && isIn(known.window, atMs)) return known;
      const window = placedAt(bound.limit.window, atMs);
      const table = limitsTable(window, bound.holder);
      const sum = sumIn(table, fieldOf(bound.limit), window);
      const found = { sum, window };
      const isLater = known === undefined ||
        window.startMs > known.window.startMs;
      if (isLater && isIn(window, clock.now())) {
        latest.set(bound, found);
        begin(bound, found);
      }
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

/** The same for limits that count the same, however much they allow. */
function fieldOf({ unit, models, connections }: AmountLimit): string {
  return models === undefined && connections === undefined
    ? unit
    : `${unit}\t${JSON.stringify([models ?? null, connections ?? null])}`;
}

/** A limit in a few words for metrics, such as `tokens day`, whatever it allows. */
export function boundLabel({ limit }: Bound): string {
  return `${limit.kind === "share" ? "share" : limit.unit} ${limit.window}`;
}

/** Whether a limit counts what a connection's model uses. */
export function countsRow(
  { models, connections }: AmountLimit,
  { connection, model }: Row,
): boolean {
  return (models?.includes(model) ?? true) &&
    (connections?.includes(connection) ?? true);
}

/** How much of these counts a unit is made of. */
export function amountOf(unit: LimitUnit, counts: Counts): number {
  return unit === "tokens" ? tokensOf(counts) : counts[unit] ?? 0;
}

const MEASURES_BY_UNIT: Readonly<Record<LimitUnit, readonly Measure[]>> = {
  requests: ["requests"],
  tokens: ["input", "output"],
  cost: ["cost"],
};

function countedBefore(
  { limit, holder }: AmountBound,
  { window: kind, ...span }: PlacedWindow,
  { sums, config }: {
    readonly sums: Pick<Sums, "read">;
    readonly config: Config;
  },
): number {
  const window = COUNTED_WINDOWS.find((one) => one === kind);
  if (window === undefined) return 0;
  const table = countsTable({ window, ...span }, holder);
  const fields = rowsOf(config).filter((row) => countsRow(limit, row))
    .flatMap((row) =>
      MEASURES_BY_UNIT[limit.unit].map((one) => countsField(one, row))
    );
  return sums.read(fields.map((field) => sumIn(table, field, span)))
    .reduce((sum, amount) => sum + amount, 0);
}

function rowsOf({ connections }: Config): readonly Row[] {
  return connections.flatMap(({ name, models }) =>
    models.map(({ id }) => ({ connection: name, model: id }))
  );
}
