import { LEVEL_TEXTS, levelOf } from "../../http/page/level.js";
import { resetText } from "../../http/page/times.js";
import { leftText, nameParts, usedText } from "../../http/page/words.js";
import type { QuotaWindow } from "../../limits/window.ts";
import type { Paint } from "../colours.ts";
import { drawBar, STYLES } from "./bar.ts";
import { plainText } from "../plain_text.ts";

/** What is said of a window, beside its bar. */
export interface Row {
  readonly window: QuotaWindow;
  readonly name: string;
  readonly used: string;
  readonly left: string;
  readonly reset: string;
  /** Of a window that needs attention; empty for others. */
  readonly notice: string;
}

/** How wide the columns of a table are, in characters. */
export type Widths = Readonly<Record<Exclude<keyof Row, "window">, number>>;

/** How rows are drawn. */
export interface RowOptions {
  readonly widths: Widths;
  /** How many characters fit into a line. */
  readonly columns: number;
  readonly paint: Paint;
}

/** Puts a window into words, as of `nowMs` milliseconds since 1970. */
export function rowOf(window: QuotaWindow, nowMs: number): Row {
  const level = levelOf(window);
  const isNotable = level !== "plenty" && level !== "unknown";
  return {
    window,
    name: plainText(nameParts(window).join(" ")),
    used: plainText(usedText(window)),
    left: plainText(leftText(window)),
    reset: resetText(window, nowMs),
    notice: isNotable ? LEVEL_TEXTS[level] : "",
  };
}

/** The widths that rows need to stand in columns. */
export function widthsOf(rows: readonly Row[]): Widths {
  const widest = (column: keyof Widths) =>
    Math.max(0, ...rows.map((row) => row[column].length));
  return {
    name: widest("name"),
    used: widest("used"),
    left: widest("left"),
    reset: widest("reset"),
    notice: widest("notice"),
  };
}

const GAP = "  ";

/** Below this width a bar tells nothing: then a window takes three lines instead of one. */
const MIN_BAR = 10;
const MAX_BAR = 30;

/** Draws a row into one line where its columns fit, else into three. */
export function drawRow(row: Row, options: RowOptions): readonly string[] {
  const { name, used, left, reset, notice } = options.widths;
  const texts = [name, used, left, reset, notice].filter((width) => width > 0);
  const taken = texts.reduce((sum, width) => sum + GAP.length + width, 0);
  const room = options.columns - taken - GAP.length;
  return room >= MIN_BAR
    ? [wideLine(row, { ...options, bar: Math.min(MAX_BAR, room) })]
    : narrowLines(row, options);
}

function wideLine(
  { window, name, used, left, reset, notice }: Row,
  { widths, paint, bar }: RowOptions & { readonly bar: number },
): string {
  const cells = [
    "",
    name.padEnd(widths.name),
    drawBar(window, { width: bar, paint }),
    used.padStart(widths.used),
    left.padStart(widths.left),
    paint("dim", reset.padEnd(notice === "" ? 0 : widths.reset)),
    paint(STYLES[levelOf(window)], notice),
  ];
  return cells.join(GAP).trimEnd();
}

function narrowLines(
  { window, name, used, left, reset, notice }: Row,
  { columns, paint }: RowOptions,
): readonly string[] {
  const width = Math.max(1, Math.min(MAX_BAR, columns - GAP.length));
  const bar = drawBar(window, { width, paint });
  const texts = [used, left, reset].filter((text) => text !== "").join(", ");
  const heading = [name, paint(STYLES[levelOf(window)], notice)];
  return [heading.join(GAP).trimEnd(), bar, texts]
    .filter((line) => line.trim() !== "")
    .map((line) => GAP + line);
}
