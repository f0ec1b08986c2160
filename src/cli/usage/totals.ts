import type { LoggedRequest, LoggedUse } from "../../observe/logged_request.ts";

/** What the requests of a log can be told apart by. */
export const GROUPINGS = [
  "token",
  "model",
  "connection",
  "day",
  "session",
] as const;

/** One of {@linkcode GROUPINGS}. */
export type Grouping = typeof GROUPINGS[number];

/** What some requests have used together; counts are of tokens unless they say otherwise. */
export interface Sums {
  requests: number;
  /** Requests whose caller got an error, or an answer that broke off. */
  errors: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Of the requests whose model had a price. */
  costUsd: number;
  /** How often a model with a price was used: once a request, or more if it used several models. */
  pricedUses: number;
  /** The same of models without a price, as far as they used tokens. */
  unpricedRequests: number;
  /** Of the input and the output: what the gateway counted because the provider did not tell. */
  estimatedTokens: number;
}

/** The sums of one group. There may be very many, so it is one object and one text. */
export interface Row extends Sums {
  /** What {@linkcode valuesOf} reads. */
  readonly key: string | undefined;
}

/** What a log comes to. */
export interface Totals {
  readonly by: readonly Grouping[];
  /** By day where that is the first grouping, else those that used most first. */
  readonly rows: readonly Row[];
  /** What came when there were as many rows as may be. */
  readonly rest: Sums;
  /** Everything together. */
  readonly total: Sums;
  /** When the first and the last request ended, as ISO 8601; undefined where there was none. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** What stands in the columns of the groupings for what belongs to no row of its own. */
export const REST = "(rest)";

/** Adds requests up. */
export interface TotalsBuilder {
  add(request: LoggedRequest): void;
  finish(): Totals;
}

/** Some 350 bytes of memory each. */
const MAX_ROWS = 1_000_000;

/**
 * Adds requests up by some groupings.
 *
 * @param maxRows How many groups are told apart, so that memory is bounded; what belongs to further ones is the rest.
 */
export function createTotals(
  by: readonly Grouping[],
  { maxRows = MAX_ROWS }: { readonly maxRows?: number } = {},
): TotalsBuilder {
  const rows = new Map<string | undefined, Row>();
  const rest = nothing();
  const total = nothing();
  let from: string | undefined;
  let to: string | undefined;

  function sumsOf(request: LoggedRequest): Sums {
    const key = keyOf(request, by);
    const known = rows.get(key);
    if (known !== undefined) return known;
    if (rows.size >= maxRows) return rest;
    const row = nothing(key);
    rows.set(key, row);
    return row;
  }

  return {
    add(request) {
      count(sumsOf(request), request);
      count(total, request);
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
      from,
      to,
    }),
  };
}

function nothing(key?: string): Row {
  return {
    key,
    requests: 0,
    errors: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costUsd: 0,
    pricedUses: 0,
    unpricedRequests: 0,
    estimatedTokens: 0,
  };
}

/** Values of several groupings are kept apart whatever they hold. */
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

/** What a row is about, in the order of the groupings; undefined where the log does not say. */
export function valuesOf(
  { key }: Row,
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
  return grouping === "day"
    ? request.time.slice(0, DAY_LENGTH)
    : request[grouping];
}

function count(sums: Sums, request: LoggedRequest): void {
  addUse(sums, request);
  sums.requests++;
  if (request.isFailed) sums.errors++;
  if (request.isEstimated) {
    sums.estimatedTokens += request.inputTokens + request.outputTokens;
  }
}

function addUse(sums: Sums, use: LoggedUse): void {
  sums.inputTokens += use.inputTokens;
  sums.cachedInputTokens += use.cachedInputTokens;
  sums.cacheWriteTokens += use.cacheWriteTokens;
  sums.outputTokens += use.outputTokens;
  sums.reasoningTokens += use.reasoningTokens;
  if (use.costUsd !== undefined) {
    sums.costUsd += use.costUsd;
    sums.pricedUses++;
  } else if (use.inputTokens + use.outputTokens > 0) sums.unpricedRequests++;
}

/** Days in their order; others by what they cost, then by their tokens, then by their requests. */
function inOrder(rows: Row[], by: readonly Grouping[]): readonly Row[] {
  const dayOf = (row: Row) => by[0] === "day" ? valuesOf(row, by)[0] ?? "" : "";
  return rows.sort((one, other) =>
    compare(dayOf(one), dayOf(other)) ||
    other.costUsd - one.costUsd ||
    tokensOf(other) - tokensOf(one) ||
    other.requests - one.requests ||
    compare(one.key ?? "", other.key ?? "")
  );
}

/** All tokens, in and out. */
export function tokensOf({ inputTokens, outputTokens }: Sums): number {
  return inputTokens + outputTokens;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
