import { sumFields } from "./fields.ts";
import { type Totals, valuesOf } from "./totals.ts";

/** What stands in the columns of the groupings for what belongs to no row of its own. */
const REST = "(rest)";

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
