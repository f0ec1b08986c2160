import type { LogLineCounts } from "../../observe/read_log.ts";
import { type Page, plainText, wrapWords } from "../text.ts";
import { REST, type Sums, tokensOf, type Totals, valuesOf } from "./totals.ts";

const EXACT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 3,
});

/** The smallest count that is shown with three digits. */
const LARGE = 100_000;

/** Formats a count for a column: `99,999`, `100K`, `1.23B`. */
export function countText(count: number): string {
  return (count < LARGE ? EXACT : SHORT).format(count);
}

const DOLLARS = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
});
const PARTS_OF_A_CENT = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  maximumSignificantDigits: 2,
});

/** Formats an amount of dollars: `$1,234.50`, `$0.0012`. */
export function dollarsText(dollars: number): string {
  const format = dollars > 0 && dollars < 0.01 ? PARTS_OF_A_CENT : DOLLARS;
  return format.format(dollars);
}

/** Formats a cost: `$1,234.50`, `$0.0012`; with `+` when some requests had no price, `–` when all had none. */
function costText(
  { costUsd, pricedUses, unpricedRequests }: Sums,
): string {
  if (pricedUses === 0) return "–";
  return dollarsText(costUsd) + (unpricedRequests > 0 ? "+" : "");
}

/** Formats the share of estimated tokens: `2%`; empty when there are none. */
function estimatedText(sums: Sums): string {
  const { estimatedTokens } = sums;
  if (estimatedTokens === 0) return "";
  const percent = 100 * estimatedTokens / tokensOf(sums);
  return percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}

/** The maximum number of drawn rows; people read no more. */
const MAX_DRAWN_ROWS = 1000;

/** One row as text. */
interface DrawnRow {
  readonly names: readonly string[];
  readonly sums: Sums;
  readonly isTotal: boolean;
}

/** A column of sums. */
interface Column {
  readonly heading: string;
  readonly text: (sums: Sums) => string;
  /** Returns false for a total without a value; the column is then left out. */
  readonly isWanted: (total: Sums) => boolean;
}

const COLUMNS: readonly Column[] = [
  column("requests", ({ requests }) => requests),
  column("errors", ({ errors }) => errors),
  column("input", ({ inputTokens }) => inputTokens),
  column("cached", ({ cachedInputTokens }) => cachedInputTokens),
  column("written", ({ cacheWriteTokens }) => cacheWriteTokens),
  column("output", ({ outputTokens }) => outputTokens),
  column("reasoning", ({ reasoningTokens }) => reasoningTokens),
  {
    heading: "cost",
    text: costText,
    isWanted: ({ pricedUses }) => pricedUses > 0,
  },
  {
    heading: "est.",
    text: estimatedText,
    isWanted: ({ estimatedTokens }) => estimatedTokens > 0,
  },
];

function column(heading: string, count: (sums: Sums) => number): Column {
  return {
    heading,
    text: (sums) => countText(count(sums)),
    isWanted: (total) => count(total) > 0,
  };
}

/**
 * Draws totals: one line per row when all columns fit, else several lines per row. Notes about the log follow.
 *
 * @param lines The counts of the lines in the log.
 */
export function drawTable(
  totals: Totals,
  lines: LogLineCounts,
  page: Page,
): string {
  const columns = COLUMNS.filter(({ isWanted }) => isWanted(totals.total));
  const rows = drawnRows(totals);
  const drawn = totals.rows.length === 0
    ? []
    : wideLines(rows, { ...page, by: totals.by, shown: columns }) ??
      rows.flatMap((row) => narrowLines(row, { ...page, shown: columns }));
  const notes = notesOf(totals, lines)
    .flatMap((note) => wrapWords(note, page.columns))
    .map((note) => page.paint("dim", note));
  return [...drawn, ...(drawn.length === 0 ? [] : [""]), ...notes]
    .map((line) => `${line.trimEnd()}\n`).join("");
}

function drawnRows(
  { by, rows, rest, total }: Totals,
): readonly DrawnRow[] {
  const named = (name: string) => by.map((_, index) => index === 0 ? name : "");
  const drawn: DrawnRow[] = rows.slice(0, MAX_DRAWN_ROWS).map((row) => ({
    names: valuesOf(row, by).map((value) => plainText(value ?? "") || "–"),
    sums: row,
    isTotal: false,
  }));
  if (rest.requests > 0) {
    drawn.push({ names: named(REST), sums: rest, isTotal: false });
  }
  const hasTotal = rows.length > 1 || rest.requests > 0;
  return hasTotal
    ? [...drawn, { names: named("all"), sums: total, isTotal: true }]
    : drawn;
}

const GAPS = ["  ", " "];
const INDENT = "  ";

/** Draws one line per row; returns `undefined` when the columns do not fit. */
function wideLines(
  rows: readonly DrawnRow[],
  { columns, paint, shown, by }: Page & {
    readonly shown: readonly Column[];
    readonly by: Totals["by"];
  },
): readonly string[] | undefined {
  const headings = [...by, ...shown.map(({ heading }) => heading)];
  const cells = rows.map(({ names, sums }) => [
    ...names,
    ...shown.map(({ text }) => text(sums)),
  ]);
  const aligned = alignColumns([headings, ...cells], {
    columns,
    isLeft: (index) => index < by.length,
  });
  return aligned?.map((line, index) => {
    if (index === 0) return paint("dim", line);
    return rows[index - 1]?.isTotal === true ? paint("bold", line) : line;
  });
}

/**
 * Aligns the cells of rows in columns.
 *
 * @param options `isLeft` returns true for a column of words, which begin at its left; numbers end at its right.
 * @returns A line for each row; `undefined` when the lines would be longer than `columns`.
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  { columns, isLeft }: {
    readonly columns: number;
    readonly isLeft: (index: number) => boolean;
  },
): readonly string[] | undefined {
  const widths = (rows[0] ?? []).map((_, index) =>
    rows.reduce((width, row) => Math.max(width, row[index]?.length ?? 0), 0)
  );
  const taken = widths.reduce((sum, width) => sum + width, 0);
  const gap = GAPS.find(({ length }) =>
    taken + length * (widths.length - 1) <= columns
  );
  if (gap === undefined) return undefined;
  return rows.map((row) =>
    row.map((cell, index) => {
      const width = widths[index] ?? 0;
      return isLeft(index) ? cell.padEnd(width) : cell.padStart(width);
    }).join(gap).trimEnd()
  );
}

function narrowLines(
  { names, sums }: DrawnRow,
  { columns, paint, shown }: Page & { readonly shown: readonly Column[] },
): readonly string[] {
  const facts = shown.map(({ heading, text }) => [heading, text(sums)] as const)
    .filter(([, text]) => text !== "" && text !== "0")
    .map((pair) => pair.join(" "));
  return [
    paint("bold", names.filter((name) => name !== "").join(INDENT)),
    ...wrapFacts(facts, columns),
  ];
}

/** Returns facts with commas between them, in indented lines that break only between facts where they can. */
export function wrapFacts(
  facts: readonly string[],
  columns: number,
): readonly string[] {
  // A no-break space keeps a fact on one line.
  const text = facts.map((fact) => fact.replaceAll(" ", "\u00a0")).join(", ");
  return wrapWords(INDENT + text, columns)
    .map((line) => line.replaceAll("\u00a0", " "));
}

function notesOf(
  totals: Totals,
  { requests, other, unreadable }: LogLineCounts,
): readonly string[] {
  const { from, to, rows, rest, total } = totals;
  const left = rows.length - MAX_DRAWN_ROWS;
  const read = [
    counted(requests, "request"),
    counted(other, "other line"),
    counted(unreadable, "unreadable line"),
  ].join(", ");
  return [
    ...(left > 0
      ? [`${counted(left, "more row")}: --csv and --json print all`]
      : []),
    ...(rest.requests > 0 ? [`${REST}: ${REST_MEANING}`] : []),
    ...(total.pricedUses > 0 && total.unpricedRequests > 0
      ? ["+ some requests were of a model without a price"]
      : []),
    from === undefined ? read : `${read}, ${from} to ${to}`,
  ];
}

function counted(count: number, noun: string): string {
  return `${EXACT.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const REST_MEANING =
  "the requests of all groups after the first million; use another --by";
