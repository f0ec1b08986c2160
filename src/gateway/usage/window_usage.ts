import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import { type Counts, type Measure, MEASURES } from "./counts.ts";
import type { Sums } from "./sums.ts";
import {
  type CountedMiss,
  countsTable,
  type Holder,
  missesIn,
  placedAt,
  readCountsField,
  REPORTED_WINDOWS,
  type ReportedWindow,
  type Row,
} from "./tables.ts";

/** The usage in a calendar window, UTC. */
export interface WindowUsage {
  readonly window: ReportedWindow;
  /** ISO 8601 in UTC. */
  readonly starts_at: string;
  readonly resets_at: string;
  /** True when everything since the window's start is counted. */
  readonly complete: boolean;
  readonly total: UsedAmounts;
  /** The dear turns by cause (docs/usage.md#dear-turns). */
  readonly cache_misses: readonly MissUsage[];
  /** The usage by connection and model, without rows that are all 0. */
  readonly data: readonly RowUsage[];
}

/** The turns that read too little from a prompt cache for one cause. */
interface MissUsage {
  /** A word of `cache_miss` in the log. */
  readonly cause: string;
  /** The edited part of the request. */
  readonly part: string | null;
  readonly requests: number;
  /** The extra cost of these turns; null when no model had a price. */
  readonly cost_usd: number | null;
}

/** The usage of one model on one connection. */
interface RowUsage extends Row, UsedAmounts {}

/** The usage of requests. `input_tokens` includes cached and written tokens, `output_tokens` includes reasoning. */
export interface UsedAmounts {
  readonly requests: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  /** The cost of requests whose model has a price; null when no model has a price. */
  readonly cost_usd: number | null;
  /** The requests that `cost_usd` leaves out, because their model has no price. */
  readonly unpriced_requests: number;
  /** The requests whose tokens are estimated. */
  readonly estimated_requests: number;
}

/** Returns a holder's usage in the current windows. */
export function readWindows(
  holder: Holder,
  { sums, nowMs }: {
    readonly sums: Pick<Sums, "table" | "sinceMs">;
    readonly nowMs: number;
  },
): Promise<readonly WindowUsage[]> {
  return Promise.all(REPORTED_WINDOWS.map(async (kind) => {
    const window = placedAt(kind, nowMs);
    const table = await sums.table(countsTable(window, holder));
    const rows = rowsIn(table);
    const data = rows.map(({ connection, model, counts }) => ({
      connection,
      model,
      ...usedAmounts(counts),
    }));
    return {
      window: kind,
      starts_at: new Date(window.startMs).toISOString(),
      resets_at: new Date(window.endMs).toISOString(),
      complete: sums.sinceMs <= window.startMs,
      total: usedAmounts(totalOf(rows.map(({ counts }) => counts))),
      cache_misses: missesIn(table).map(missUsage),
      data,
    };
  }));
}

function missUsage({ cause, requests, nanos }: CountedMiss): MissUsage {
  const [word = cause, part = null] = cause.split(" ");
  const cost_usd = nanos === undefined ? null : nanos / NANOS_PER_DOLLAR;
  return { cause: word, part, requests, cost_usd };
}

/** A row and its counts. */
interface CountedRow extends Row {
  readonly counts: Counts;
}

/** Returns the rows of a table, ordered by connection, then by model. */
function rowsIn(table: ReadonlyMap<string, number>): readonly CountedRow[] {
  const rows = new Map<
    string,
    Row & { counts: Partial<Record<Measure, number>> }
  >();
  for (const [field, amount] of table) {
    const found = readCountsField(field);
    if (found === undefined) continue;
    const { measure, ...row } = found;
    const key = `${row.connection}\t${row.model}`;
    const counted = rows.get(key) ?? { ...row, counts: {} };
    counted.counts[measure] = amount;
    rows.set(key, counted);
  }
  return [...rows].sort(([one], [other]) => one < other ? -1 : 1)
    .map(([, row]) => row);
}

function totalOf(all: readonly Counts[]): Counts {
  const total: Partial<Record<Measure, number>> = {};
  for (const counts of all) {
    for (const measure of MEASURES) {
      const amount = counts[measure];
      if (amount === undefined) continue;
      total[measure] = (total[measure] ?? 0) + amount;
    }
  }
  return total;
}

/** Returns counts under their names in `GET /usage`. */
export function usedAmounts(counts: Counts): UsedAmounts {
  return {
    requests: counts.requests ?? 0,
    input_tokens: counts.input ?? 0,
    cached_input_tokens: counts.cached_input ?? 0,
    cache_write_tokens: counts.cache_write ?? 0,
    output_tokens: counts.output ?? 0,
    reasoning_tokens: counts.reasoning ?? 0,
    cost_usd: counts.cost === undefined ? null : counts.cost / NANOS_PER_DOLLAR,
    unpriced_requests: counts.unpriced ?? 0,
    estimated_requests: counts.estimated ?? 0,
  };
}
