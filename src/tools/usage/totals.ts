import type { DearTurns } from "@gateway/page/wording";
import {
  COUNTS,
  type LoggedRequest,
  type LoggedUse,
  NO_TOKENS,
} from "@gateway/gateway/log";

/** The fields by which requests of a log can be grouped. */
export const GROUPINGS = [
  "token",
  "group",
  "model",
  "connection",
  "day",
  "session",
] as const;

/** One of {@linkcode GROUPINGS}, or a header of `server.attribution`. */
export type Grouping = typeof GROUPINGS[number] | `x-${string}`;

/** Returns true for a text that can group requests. */
export function isGrouping(text: string): text is Grouping {
  return GROUPINGS.some((one) => one === text) || isHeader(text);
}

function isHeader(text: string): text is `x-${string}` {
  return /^x-[a-z0-9-]+$/.test(text);
}

/**
 * The total usage of some requests. Each count is a number of tokens, unless its name or its comment says otherwise.
 */
export interface UsageSums extends Record<typeof COUNTS[number][1], number> {
  requests: number;
  /** The requests whose caller received an error or an incomplete answer. */
  errors: number;
  /** The cost of the requests whose model had a price. */
  costUsd: number;
  /** The uses of models with a price. A request is one use of a model, or several uses if it used several models. */
  pricedUses: number;
  /** The uses of models without a price. A use without tokens is not counted. */
  unpricedRequests: number;
  /** The input and output tokens that the gateway estimated because the provider reported no usage. */
  estimatedTokens: number;
}

/** The sums of one group. There may be very many groups, so a group takes only one object and one text. */
export interface TotalsRow extends UsageSums {
  /** The values of the group as one text; {@linkcode valuesOf} reads them. */
  readonly key: string | undefined;
}

/** The totals of a log. */
export interface Totals {
  readonly by: readonly Grouping[];
  /**
   * The sums of each group. The rows are sorted by day if the first grouping is by day, and then by usage, the largest
   * first.
   */
  readonly rows: readonly TotalsRow[];
  /** The sums of all groups beyond the maximum number of rows. */
  readonly rest: UsageSums;
  /** The sums of all requests. */
  readonly total: UsageSums;
  /** The turns that read too little from a prompt cache. */
  readonly dearTurns: readonly DearTurns[];
  /**
   * The times at which the first request (`from`) and the last request (`to`) ended, as ISO 8601; undefined without
   * requests.
   */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The name of the row for all groups beyond the maximum. */
export const REST = "(rest)";

/** Adds requests up. */
export interface TotalsBuilder {
  add(request: LoggedRequest): void;
  finish(): Totals;
}

/** The maximum number of rows. Each row takes some 350 bytes of memory. */
const MAX_ROWS = 1_000_000;

/**
 * Adds requests up by some groupings.
 *
 * @param maxRows The maximum number of groups. It bounds the memory: the requests of further groups are added to
 * `rest`.
 */
export function createTotals(
  by: readonly Grouping[],
  { maxRows = MAX_ROWS }: { readonly maxRows?: number } = {},
): TotalsBuilder {
  const rows = new Map<string | undefined, TotalsRow>();
  const rest = emptyRow();
  const total = emptyRow();
  const dearTurns = new Map<string, DearTurns>();
  let from: string | undefined;
  let to: string | undefined;

  function sumsOf(request: LoggedRequest): UsageSums {
    const key = keyOf(request, by);
    const known = rows.get(key);
    if (known !== undefined) return known;
    if (rows.size >= maxRows) return rest;
    const row = emptyRow(key);
    rows.set(key, row);
    return row;
  }

  return {
    add(request) {
      count(sumsOf(request), request);
      count(total, request);
      countDear(request, dearTurns);
      for (const use of request.others) {
        addUse(sumsOf({ ...request, model: use.model }), use);
        addUse(total, use);
      }
      if (from === undefined || request.time < from) from = request.time;
      if (to === undefined || request.time > to) to = request.time;
    },
    finish: () => ({
      by,
      rows: inOrder([...rows.values()], by),
      rest,
      total,
      dearTurns: [...dearTurns.values()],
      from,
      to,
    }),
  };
}

function emptyRow(key?: string): TotalsRow {
  return {
    key,
    requests: 0,
    errors: 0,
    ...NO_TOKENS,
    costUsd: 0,
    pricedUses: 0,
    unpricedRequests: 0,
    estimatedTokens: 0,
  };
}

/**
 * Returns the key of a request's group. With several groupings, JSON keeps the values apart even if a value contains a
 * separator.
 */
function keyOf(
  request: LoggedRequest,
  by: readonly Grouping[],
): string | undefined {
  const [only, ...others] = by;
  if (only !== undefined && others.length === 0) return valueOf(request, only);
  return JSON.stringify(
    by.map((grouping) => valueOf(request, grouping) ?? null),
  );
}

/** Returns the values of a row in the order of the groupings; a value is undefined when the log does not have it. */
export function valuesOf(
  { key }: TotalsRow,
  by: readonly Grouping[],
): readonly (string | undefined)[] {
  if (by.length === 1) return [key];
  const values: readonly (string | null)[] = JSON.parse(key ?? "[]");
  return values.map((value) => value ?? undefined);
}

const DAY_LENGTH = "2026-11-21".length;

function valueOf(
  request: LoggedRequest,
  grouping: Grouping,
): string | undefined {
  if (grouping === "day") return request.time.slice(0, DAY_LENGTH);
  if (grouping === "group") return request.tokenGroup;
  if (!isHeader(grouping)) return request[grouping];
  const value = request.attribution[grouping];
  return typeof value === "string" ? value : undefined;
}

function count(sums: UsageSums, request: LoggedRequest): void {
  addUse(sums, request);
  sums.requests++;
  if (request.isFailed) sums.errors++;
  if (request.isEstimated) {
    sums.estimatedTokens += request.inputTokens + request.outputTokens;
  }
}

function addUse(sums: UsageSums, use: LoggedUse): void {
  for (const [, of] of COUNTS) sums[of] += use[of];
  if (use.costUsd !== undefined) {
    sums.costUsd += use.costUsd;
    sums.pricedUses++;
  } else if (use.inputTokens + use.outputTokens > 0) sums.unpricedRequests++;
}

function countDear(
  { cacheMiss }: LoggedRequest,
  dearTurns: Map<string, DearTurns>,
): void {
  if (cacheMiss === undefined) return;
  const { cause, costUsd } = cacheMiss;
  const part = cacheMiss.part?.replace(/\[.*/, "") ?? null;
  const key = `${cause} ${part}`;
  const known = dearTurns.get(key);
  const cost = known?.cost_usd ?? null;
  dearTurns.set(key, {
    cause,
    part,
    requests: (known?.requests ?? 0) + 1,
    cost_usd: costUsd === undefined ? cost : costUsd + (cost ?? 0),
  });
}

/** Sorts rows by day if the first grouping is by day, then by cost, tokens and requests, the largest first. */
function inOrder(
  rows: TotalsRow[],
  by: readonly Grouping[],
): readonly TotalsRow[] {
  const dayOf = (row: TotalsRow) =>
    by[0] === "day" ? valuesOf(row, by)[0] ?? "" : "";
  return rows.sort((one, other) =>
    compare(dayOf(one), dayOf(other)) ||
    other.costUsd - one.costUsd ||
    tokensOf(other) - tokensOf(one) ||
    other.requests - one.requests ||
    compare(one.key ?? "", other.key ?? "")
  );
}

/** Returns the input and output tokens together. */
export function tokensOf({ inputTokens, outputTokens }: UsageSums): number {
  return inputTokens + outputTokens;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
