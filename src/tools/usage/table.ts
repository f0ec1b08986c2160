import { dearTurnsText } from "@gateway/page/wording";
import type { LogLineCounts } from "@gateway/gateway/log";
import {
  barColumn,
  type Column,
  countText,
  dollarsText,
  drawTable,
  wordColumn,
} from "../table.ts";
import { counted, type Page, plainText, wrapWords } from "@gateway/base/text";
import {
  REST,
  tokensOf,
  type Totals,
  type UsageSums,
  valuesOf,
} from "./totals.ts";

/** The maximum number of drawn rows. People read no more rows than this. */
const MAX_DRAWN_ROWS = 1000;

/**
 * Draws totals: one line for each row when all columns fit, otherwise several lines. Notes about the log follow the
 * rows.
 *
 * @param lines The counts of the lines in the log.
 */
export function drawTotals(
  totals: Totals,
  lines: LogLineCounts,
  page: Page,
): string {
  const drawn = totals.rows.length === 0 ? [] : [
    ...drawTable(drawnRows(totals), {
      ...page,
      names: totals.by.map((heading, index) =>
        wordColumn(heading, ({ names }) => names[index] ?? "")
      ),
      facts: [
        ...(totals.by.join() === "day" ? [barOf(totals, page)] : []),
        ...FACTS.filter(({ isWanted }) => isWanted(totals.total)),
      ],
      isTotal: ({ sums }) => sums === totals.total,
    }),
    "",
  ];
  const notes = notesOf(totals, lines)
    .flatMap((note) => wrapWords(note, page.columns))
    .map((note) => page.paint("dim", note));
  return [...drawn, ...notes].map((line) => `${line}\n`).join("");
}

/** The sums of a row, and the words that name the row. */
interface DrawnRow {
  readonly names: readonly string[];
  readonly sums: UsageSums;
}

function drawnRows({ by, rows, rest, total }: Totals): readonly DrawnRow[] {
  const drawn: DrawnRow[] = rows.slice(0, MAX_DRAWN_ROWS).map((row) => ({
    names: valuesOf(row, by).map((value) => plainText(value ?? "") || "–"),
    sums: row,
  }));
  if (rest.requests > 0) drawn.push({ names: [REST], sums: rest });
  if (drawn.length > 1) drawn.push({ names: ["all"], sums: total });
  return drawn;
}

/** A column of sums. */
interface Fact extends Column<DrawnRow> {
  /** Returns false when the sum of all rows has no value for the column. The column is then left out. */
  readonly isWanted: (total: UsageSums) => boolean;
}

const FACTS: readonly Fact[] = [
  count("requests", ({ requests }) => requests),
  count("errors", ({ errors }) => errors),
  count("input", ({ inputTokens }) => inputTokens),
  count("cached", ({ cachedInputTokens }) => cachedInputTokens),
  count("written", ({ cacheWriteTokens }) => cacheWriteTokens),
  count("output", ({ outputTokens }) => outputTokens),
  count("reasoning", ({ reasoningTokens }) => reasoningTokens),
  {
    heading: "cost",
    text: ({ sums }) => costText(sums),
    isWanted: ({ pricedUses }) => pricedUses > 0,
  },
  {
    heading: "est.",
    text: ({ sums }) => estimatedText(sums),
    isWanted: ({ estimatedTokens }) => estimatedTokens > 0,
  },
];

/** The width of a bar, in characters. It leaves room for the numbers in 80 columns. */
const BAR_WIDTH = 12;

/**
 * Returns the column with a bar for each day. The bar shows the day's cost or, when no model has a price, its tokens.
 */
function barOf(
  { rows, total }: Totals,
  { paint }: Page,
): Column<DrawnRow> {
  const amountOf = (sums: UsageSums) =>
    total.pricedUses > 0 ? sums.costUsd : tokensOf(sums);
  const most = rows.reduce((most, row) => Math.max(most, amountOf(row)), 0);
  return barColumn(
    ({ sums }) => sums === total ? undefined : amountOf(sums),
    { most, width: BAR_WIDTH, paint },
  );
}

function count(heading: string, countOf: (sums: UsageSums) => number): Fact {
  return {
    heading,
    text: ({ sums }) => countText(countOf(sums)),
    isWanted: (total) => countOf(total) > 0,
  };
}

/**
 * Formats a cost: `$1,234.50`, `$0.0012`. Adds `+` when some requests had no price. Returns `–` when no request had a
 * price.
 */
function costText(
  { costUsd, pricedUses, unpricedRequests }: UsageSums,
): string {
  if (pricedUses === 0) return dollarsText(null);
  return dollarsText(costUsd) + (unpricedRequests > 0 ? "+" : "");
}

/** Formats the share of estimated tokens: `2%`; empty when no tokens are estimated. */
function estimatedText(sums: UsageSums): string {
  const { estimatedTokens } = sums;
  if (estimatedTokens === 0) return "";
  const percent = 100 * estimatedTokens / tokensOf(sums);
  return percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}

function notesOf(
  totals: Totals,
  { requests, other, unreadable }: LogLineCounts,
): readonly string[] {
  const { from, to, rows, rest, total } = totals;
  const dear = dearTurnsText(totals.dearTurns);
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
    ...(dear === undefined ? [] : [dear]),
    from === undefined ? read : `${read}, ${from} to ${to}`,
  ];
}

const REST_MEANING =
  "the requests of all groups after the first million; use another --by";
