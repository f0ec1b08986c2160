import type { LogLineCounts } from "../../observe/read_log.ts";
import { type Paint, plainText, wrapWords } from "../text.ts";
import { REST, type Sums, tokensOf, type Totals, valuesOf } from "./totals.ts";

const EXACT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 3,
});

/** From here on three digits are told. */
const LARGE = 100_000;

/** A number that fits into a column: `99,999`, `100K`, `1.23B`. */
function countText(count: number): string {
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

/** What requests cost: `$1,234.50`, `$0.0012`; with `+` where some had no price; `–` where all had none. */
function costText(
  { costUsd, pricedUses, unpricedRequests }: Sums,
): string {
  if (pricedUses === 0) return "–";
  const format = costUsd > 0 && costUsd < 0.01 ? PARTS_OF_A_CENT : DOLLARS;
  return format.format(costUsd) + (unpricedRequests > 0 ? "+" : "");
}

/** Which share of the tokens the gateway has estimated: `2%`; empty where it is none. */
function estimatedText(sums: Sums): string {
  const { estimatedTokens } = sums;
  if (estimatedTokens === 0) return "";
  const percent = 100 * estimatedTokens / tokensOf(sums);
  return percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}

/** How a table is drawn. */
interface TableOptions {
  /** How many characters fit into a line. */
  readonly columns: number;
  readonly paint: Paint;
}

/** More rows are nothing that people read. */
const MAX_DRAWN_ROWS = 1000;

/** One row as text. */
interface DrawnRow {
  readonly names: readonly string[];
  readonly sums: Sums;
  readonly isTotal: boolean;
}

/** Something that is told of each row. */
interface Column {
  readonly heading: string;
  readonly text: (sums: Sums) => string;
  /** Whether there is anything to tell of all rows together; else the column is left out. */
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
 * Draws totals: a line for each row where all columns fit, else some lines for each; below them what was read.
 *
 * @param lines What the log consists of.
 */
export function drawTable(
  totals: Totals,
  lines: LogLineCounts,
  options: TableOptions,
): string {
  const columns = COLUMNS.filter(({ isWanted }) => isWanted(totals.total));
  const rows = drawnRows(totals);
  const drawn = totals.rows.length === 0
    ? []
    : wideLines(rows, { ...options, by: totals.by, shown: columns }) ??
      rows.flatMap((row) => narrowLines(row, { ...options, shown: columns }));
  const notes = notesOf(totals, lines)
    .flatMap((note) => wrapWords(note, options.columns))
    .map((note) => options.paint("dim", note));
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

/** @returns Nothing where a line does not hold the columns. */
function wideLines(
  rows: readonly DrawnRow[],
  { columns, paint, shown, by }: TableOptions & {
    readonly shown: readonly Column[];
    readonly by: Totals["by"];
  },
): readonly string[] | undefined {
  const headings = [...by, ...shown.map(({ heading }) => heading)];
  const cells = rows.map(({ names, sums }) => [
    ...names,
    ...shown.map(({ text }) => text(sums)),
  ]);
  const widths = headings.map((heading, index) =>
    cells.reduce(
      (width, row) => Math.max(width, row[index]?.length ?? 0),
      heading.length,
    )
  );
  const taken = widths.reduce((sum, width) => sum + width, 0);
  const gap = GAPS.find(({ length }) =>
    taken + length * (widths.length - 1) <= columns
  );
  if (gap === undefined) return undefined;
  const spell = (row: readonly string[]) =>
    row.map((cell, index) => {
      const width = widths[index] ?? 0;
      return index < by.length ? cell.padEnd(width) : cell.padStart(width);
    }).join(gap).trimEnd();
  return [
    paint("dim", spell(headings)),
    ...cells.map((row, index) =>
      rows[index]?.isTotal === true ? paint("bold", spell(row)) : spell(row)
    ),
  ];
}

function narrowLines(
  { names, sums }: DrawnRow,
  { columns, paint, shown }: TableOptions & {
    readonly shown: readonly Column[];
  },
): readonly string[] {
  const facts = shown
    .map(({ heading, text }) => [heading, text(sums)] as const)
    .filter(([, text]) => text !== "" && text !== "0")
    // The space in a pair is one that no line is broken at.
    .map(([heading, text]) => `${heading}\u00a0${text}`);
  return [
    paint("bold", names.filter((name) => name !== "").join(INDENT)),
    ...wrapWords(INDENT + facts.join(", "), columns)
      .map((line) => line.replaceAll("\u00a0", " ")),
  ];
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
  "what came when there were a million rows; group by something else";
