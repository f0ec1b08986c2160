import { oneLine } from "@gateway/base/json";
import { COUNTS, type LogLineCounts } from "@gateway/gateway/log";
import {
  REST,
  type Totals,
  type TotalsRow,
  type UsageSums,
  valuesOf,
} from "./totals.ts";

/**
 * Writes totals as lines of CSV (RFC 4180). The first line has the names of the columns. No line has the sum of all
 * rows.
 */
export function* csvLines(totals: Totals): Generator<string> {
  const names = Object.keys(sumFields(totals.total));
  yield csvLine([...totals.by, ...names]);
  const { by, rows, rest } = totals;
  for (const row of rows) {
    yield csvLine([...valuesOf(row, by), ...Object.values(sumFields(row))]);
  }
  if (rest.requests === 0) return;
  yield csvLine([...by.map(() => REST), ...Object.values(sumFields(rest))]);
}

/** Writes one line of CSV (RFC 4180). */
export function csvLine(
  values: readonly (string | number | null | undefined)[],
): string {
  return `${values.map(field).join(",")}\r\n`;
}

/**
 * Matches each place in a field where a spreadsheet may see the start of a formula
 * (https://owasp.org/www-community/attacks/CSV_Injection). This is the beginning of the field, or a place after a
 * character that some readers take for the end of a cell.
 */
const FORMULA_REGEXP = /(?<=^|[;|\t\r\n])(?= *[=+\-@\t\r\n＝＋－＠])/g;

/**
 * Matches characters that control a terminal, are invisible or change the text's direction. Tabs and line ends are not
 * matched, because CSV allows them.
 */
const HIDDEN_REGEXP = /(?![\t\r\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes a field. A text that looks like a formula gets an apostrophe, so that a spreadsheet takes it for a text. */
function field(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return plainNumber(value);
  const shown = value.replace(HIDDEN_REGEXP, "\ufffd");
  const text = shown.replace(FORMULA_REGEXP, "'");
  return /[^\w.-]|^'/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes a number without an exponent, because some readers of CSV do not parse exponents. */
function plainNumber(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(9).replace(/\.?0+$/, "") : text;
}

/** Writes totals as one line of JSON. There may be many rows, so the line comes in parts. */
export function* jsonParts(
  totals: Totals,
  lines: LogLineCounts,
): Generator<string> {
  const { by, from = null, to = null, total, rest } = totals;
  const head = oneLine({
    object: "usage_totals",
    by,
    from,
    to,
    lines,
    total: sumFields(total),
    rest: rest.requests === 0 ? null : sumFields(rest),
    cache_misses: totals.dearTurns,
  });
  yield `${head.slice(0, -1)},"data":[`;
  let separator = "";
  for (const row of totals.rows) {
    yield separator + oneLine(rowFields(row, totals));
    separator = ",";
  }
  yield "]}\n";
}

function rowFields(row: TotalsRow, { by }: Totals): unknown {
  const values = valuesOf(row, by);
  const names = by.map((grouping, index) => [grouping, values[index] ?? null]);
  return { ...Object.fromEntries(names), ...sumFields(row) };
}

/** The counts that have a column. The tokens written to the cache for one hour have no column. */
const COLUMNS = COUNTS.filter(([, of]) => of !== "cacheWrite1hTokens");

/** Returns the sums under their names in JSON and CSV. The cost is null when no request had a price. */
function sumFields(sums: UsageSums): Readonly<Record<string, number | null>> {
  return {
    requests: sums.requests,
    errors: sums.errors,
    ...Object.fromEntries(COLUMNS.map(([name, of]) => [name, sums[of]])),
    cost_usd: sums.pricedUses === 0 ? null : roundCost(sums.costUsd),
    unpriced_requests: sums.unpricedRequests,
    estimated_tokens: sums.estimatedTokens,
  };
}

/** Rounds a cost to nine digits, to remove the error of floating-point addition. */
export function roundCost(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}
