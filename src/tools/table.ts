import { amountText } from "@gateway/page/wording";
import { type Page, type Style, widthOf, wrapWords } from "@gateway/base/text";

/** A column of a table. */
export interface Column<Row> {
  readonly heading: string;
  readonly text: (row: Row) => string;
  /**
   * True for words, false for numbers. Words begin at the left of their column, and numbers end at the right. When the
   * columns do not fit the page, words are drawn without their heading.
   */
  readonly isWords?: boolean;
}

/** Returns a column of words. */
export function wordColumn<Row>(
  heading: string,
  text: (row: Row) => string,
): Column<Row> {
  return { heading, text, isWords: true };
}

/**
 * Returns a column with a bar for each row.
 *
 * @param amountOf Returns the amount that the bar of a row shows; `undefined` for a row without a bar.
 * @param options `most` is the amount of a full bar; `width` is in characters.
 */
export function barColumn<Row>(
  amountOf: (row: Row) => number | undefined,
  { most, width, paint }: Pick<Page, "paint"> & {
    readonly most: number;
    readonly width: number;
  },
): Column<Row> {
  return wordColumn("", (row) => {
    const amount = amountOf(row);
    return amount === undefined || most === 0
      ? ""
      : drawBar(100 * amount / most, { width, style: "green", paint });
  });
}

interface TableOptions<Row> extends Page {
  /** The columns that name a row. */
  readonly names: readonly Column<Row>[];
  /** The columns with the facts about a row. */
  readonly facts: readonly Column<Row>[];
  /** Returns true for the row with the sum of the other rows. That row is drawn bold. */
  readonly isTotal?: (row: Row) => boolean;
  /** The spaces before each line under the headings. */
  readonly indent?: string;
}

/**
 * Draws rows under headings, one line for each row. When the columns do not fit the page, draws the name of each row,
 * and below the name those facts that are not empty or 0.
 */
export function drawTable<Row>(
  rows: readonly Row[],
  options: TableOptions<Row>,
): readonly string[] {
  const { names, facts, isTotal, indent = "", columns, paint } = options;
  const all = [...names, ...facts];
  const aligned = alignColumns(
    [
      all.map(({ heading }) => heading),
      ...rows.map((row) => all.map(({ text }) => text(row))),
    ],
    {
      columns: columns - indent.length,
      isLeft: (index) => all[index]?.isWords === true,
    },
  );
  if (aligned === undefined) {
    return rows.flatMap((row) => narrowLines(row, options));
  }
  return aligned.map((line, index) => {
    const row = rows[index - 1];
    if (row === undefined) return indent + paint("dim", line);
    return indent + (isTotal?.(row) === true ? paint("bold", line) : line);
  });
}

const INDENT = "  ";

function narrowLines<Row>(
  row: Row,
  { names, facts, columns, paint }: TableOptions<Row>,
): readonly string[] {
  const name = names.map(({ text }) => text(row)).filter((text) => text !== "")
    .join(INDENT);
  // No-break spaces keep each fact on one line.
  const shown = facts.map(({ heading, text, isWords }) => {
    const value = text(row);
    if (value === "" || value === "0") return "";
    return (isWords === true ? value : `${heading} ${value}`)
      .replaceAll(" ", "\u00a0");
  }).filter((fact) => fact !== "").join(", ");
  return [
    paint("bold", name),
    ...wrapWords(INDENT + shown, columns)
      .map((line) => line.replaceAll("\u00a0", " ")),
  ];
}

const GAPS = ["  ", " "];

/**
 * Aligns the cells of rows in columns. A column without text is left out.
 *
 * @param options `isLeft` returns true for a column whose cells begin at the left; the cells of other columns end at
 * the right. `columns` is the width of the page. Colour codes take no width.
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
    rows.reduce((width, row) => Math.max(width, widthOf(row[index] ?? "")), 0)
  );
  const shown = widths.flatMap((width, index) => width > 0 ? [index] : []);
  const taken = widths.reduce((sum, width) => sum + width, 0);
  const gap = GAPS.find(({ length }) =>
    taken + length * (shown.length - 1) <= columns
  );
  if (gap === undefined) return undefined;
  return rows.map((row) =>
    shown.map((index) => {
      const cell = row[index] ?? "";
      const padding = " ".repeat((widths[index] ?? 0) - widthOf(cell));
      return isLeft(index) ? cell + padding : padding + cell;
    }).join(gap).trimEnd()
  );
}

const FILLED = "█";
const EMPTY = "░";

/**
 * Draws a bar that is filled from the left. A share above 0 fills at least one cell. A share below 100 leaves at least
 * one cell empty.
 *
 * @param percent The filled share; less than 0 counts as 0, and more than 100 as 100.
 * @param options `width` is in characters; `style` is the style of the filled cells.
 */
export function drawBar(
  percent: number,
  { width, style, paint }: Pick<Page, "paint"> & {
    readonly width: number;
    readonly style: Style;
  },
): string {
  const inside = Math.min(
    width - 1,
    Math.max(1, Math.round(percent / 100 * width)),
  );
  const filled = percent <= 0 ? 0 : percent >= 100 ? width : inside;
  return paint(style, FILLED.repeat(filled)) +
    paint("dim", EMPTY.repeat(width - filled));
}

const EXACT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 3,
});

/** From this count on, a count is shown with three digits only. */
const LARGE = 100_000;

/** Formats a count for a column: `99,999`, `100K`, `1.23B`. */
export function countText(count: number): string {
  return (count < LARGE ? EXACT : SHORT).format(count);
}

/** Formats an amount of dollars: `$1,234.50`, `$0.0012`. Null means that nothing had a price, and becomes `–`. */
export function dollarsText(dollars: number | null): string {
  return dollars === null ? "–" : amountText(dollars, "USD");
}
