import { oneLine } from "../../observe/log.ts";
import type { LogLineCounts } from "../../observe/read_log.ts";
import { REST, type Row, type Sums, type Totals, valuesOf } from "./totals.ts";

/** Totals as CSV (RFC 4180), line by line, with a line of names; without the sum of all rows. */
export function* csvLines(totals: Totals): Generator<string> {
  const names = Object.keys(sumFields(totals.total));
  yield line([...totals.by, ...names]);
  const { by, rows, rest } = totals;
  for (const row of rows) {
    yield line([...valuesOf(row, by), ...Object.values(sumFields(row))]);
  }
  if (rest.requests === 0) return;
  yield line([...by.map(() => REST), ...Object.values(sumFields(rest))]);
}

function line(values: readonly (string | number | null | undefined)[]): string {
  return `${values.map(field).join(",")}\r\n`;
}

/**
 * What a spreadsheet takes for the beginning of a formula, and what it skips before one
 * (https://owasp.org/www-community/attacks/CSV_Injection).
 */
const FORMULA_REGEXP = /^[=+\-@\t\r\n＝＋－＠]/;

/** What commands a terminal, where somebody looks at it there. Tabs and line ends stay, which CSV may hold. */
const CONTROL_REGEXP = /(?![\t\r\n])\p{Cc}/gu;

/** A text that would be a formula begins with an apostrophe, which spreadsheets take for the sign of a text. */
function field(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return plainNumber(value);
  const shown = value.replace(CONTROL_REGEXP, "\ufffd");
  const text = FORMULA_REGEXP.test(shown) ? `'${shown}` : shown;
  return /[",\r\n]|^'/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without an exponent, which not every reader knows. */
function plainNumber(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(9).replace(/\.?0+$/, "") : text;
}

/** Totals as one line of JSON, piece by piece: there may be many rows. */
export function* jsonPieces(
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
  });
  yield `${head.slice(0, -1)},"data":[`;
  let separator = "";
  for (const row of totals.rows) {
    yield separator + oneLine(rowFields(row, totals));
    separator = ",";
  }
  yield "]}\n";
}

function rowFields(row: Row, { by }: Totals): unknown {
  const values = valuesOf(row, by);
  const names = by.map((grouping, index) => [grouping, values[index] ?? null]);
  return { ...Object.fromEntries(names), ...sumFields(row) };
}

/** Sums under the names that they have in JSON and CSV. A cost is null where no request had a price. */
function sumFields(sums: Sums): Readonly<Record<string, number | null>> {
  return {
    requests: sums.requests,
    errors: sums.errors,
    input_tokens: sums.inputTokens,
    cached_input_tokens: sums.cachedInputTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    output_tokens: sums.outputTokens,
    reasoning_tokens: sums.reasoningTokens,
    cost_usd: sums.pricedUses === 0 ? null : roundCost(sums.costUsd),
    unpriced_requests: sums.unpricedRequests,
    estimated_tokens: sums.estimatedTokens,
  };
}

/** What adding up in floating point leaves behind the ninth digit is no money. */
function roundCost(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}
