import {
  type FailureMeaning,
  failureMeaning,
  STATUS_MEANINGS,
} from "../../http/wording/failures.js";
import { type Level, LEVEL_TEXTS, levelOf } from "../../http/wording/level.js";
import type { OwnLimits } from "../../http/wording/own_limits.js";
import { serviceText } from "../../http/wording/services.js";
import { checkedText, resetText } from "../../http/wording/times.js";
import {
  leftPercent,
  leftText,
  nameParts,
  usedText,
} from "../../http/wording/words.js";
import type { ConnectionEntry, QuotaList } from "../../quotas/list.ts";
import type { QuotaWindow } from "../../quotas/window.ts";
import {
  type Page,
  type Paint,
  plainText,
  type Style,
  wrapWords,
} from "../text.ts";

/** The options of {@linkcode drawLimits}. */
interface DrawOptions extends Page {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Draws the token's own limits, then each connection with its windows, as lines of a terminal. */
export function drawLimits(
  list: QuotaList,
  options: DrawOptions & { readonly own?: readonly OwnLimits[] | undefined },
): string {
  const { own = [] } = options;
  const widths = sharedWidths([...own, ...list.data], options);
  const drawn = [
    ...own.map((one) => drawOwn(one, { ...options, widths })),
    ...list.data.map((entry) => drawConnection(entry, { ...options, widths })),
  ];
  if (list.data.length === 0) {
    const text =
      "No connection is assigned to this token. Ask the administrator.";
    drawn.push(`${wrapWords(text, options.columns).join("\n")}\n`);
  }
  return drawn.join("\n");
}

/** Draws the limits of a token and its group alone. */
export function drawOwnLimits(
  own: readonly OwnLimits[],
  options: DrawOptions,
): string {
  const widths = sharedWidths(own, options);
  return own.map((one) => drawOwn(one, { ...options, widths })).join("\n");
}

/** Returns the widths of the columns of all windows, so that they align. */
function sharedWidths(
  holders: readonly { readonly limits: readonly QuotaWindow[] }[],
  { nowMs }: DrawOptions,
): Widths {
  return widthsOf(
    holders.flatMap(({ limits }) =>
      limits.map((window) => rowOf(window, nowMs))
    ),
  );
}

interface ConnectionOptions extends DrawOptions {
  /** Shared by all connections, so that their columns align. */
  readonly widths: Widths;
}

function drawOwn(
  { name, note, limits }: OwnLimits,
  options: ConnectionOptions,
): string {
  const { paint, columns, nowMs } = options;
  const head = `${paint("bold", plainText(name))}  ${paint("dim", note)}`;
  const rows = limits.flatMap((window) =>
    drawRow(rowOf(window, nowMs), options)
  );
  return [head, ...rows, ""].flatMap((line) => wrapWords(line, columns))
    .join("\n");
}

function drawConnection(
  entry: ConnectionEntry,
  options: ConnectionOptions,
): string {
  const lines = entry.status === "ok"
    ? windowLines(entry, options)
    : stateLines(entry, options).map((line) => `  ${line}`);
  return [headLine(entry, options), ...lines, ""]
    .flatMap((line) => wrapWords(line, options.columns)).join("\n");
}

function headLine(
  { name, service, checked_at, cached }: ConnectionEntry,
  { paint, nowMs }: DrawOptions,
): string {
  const facts = [
    plainText(serviceText(service)),
    checkedText(checked_at, nowMs),
    ...(cached ? ["from the gateway's cache"] : []),
  ];
  return `${paint("bold", plainText(name))}  ${paint("dim", facts.join(", "))}`;
}

function windowLines(
  { limits }: ConnectionEntry,
  options: ConnectionOptions,
): readonly string[] {
  if (limits.length === 0) return ["  the provider reports no window"];
  return limits.flatMap((window) =>
    drawRow(rowOf(window, options.nowMs), options)
  );
}

function stateLines(
  { status, error }: ConnectionEntry,
  { paint }: DrawOptions,
): readonly string[] {
  const state = plainText(status);
  if (error === undefined) {
    const meaning = STATUS_MEANINGS.get(status);
    return meaning === undefined
      ? [paint("dim", state)]
      : calmLines(meaning, paint);
  }
  const meaning = failureMeaning(error.type);
  if (meaning.isCalm) return calmLines(meaning, paint);
  const { title, advice } = meaning;
  return [
    `${paint("red", `${state}: ${title.toLowerCase()}`)} (${
      plainText(error.type)
    })`,
    plainText(error.message),
    advice,
  ];
}

function calmLines(
  { title, advice }: FailureMeaning,
  paint: DrawOptions["paint"],
): readonly string[] {
  return [paint("dim", title.toLowerCase()), advice];
}

/** The texts of a window, beside its bar. */
interface Row {
  readonly window: QuotaWindow;
  readonly name: string;
  readonly left: string;
  readonly used: string;
  readonly reset: string;
  /** The warning of a window that needs attention; empty for others. */
  readonly notice: string;
}

/** The widths of the columns of a table, in characters. */
type Widths = Readonly<Record<Exclude<keyof Row, "window">, number>>;

/** The options for drawing a row. */
interface RowOptions extends Page {
  readonly widths: Widths;
}

/** Returns the texts of a window at the time `nowMs`, in milliseconds since 1970. */
function rowOf(window: QuotaWindow, nowMs: number): Row {
  const level = levelOf(window);
  const isNotable = level !== "plenty" && level !== "unknown";
  return {
    window,
    name: plainText(nameParts(window).join(" ")),
    left: plainText(leftText(window)),
    used: plainText(usedText(window)),
    reset: resetText(window, nowMs),
    notice: isNotable ? LEVEL_TEXTS[level] : "",
  };
}

/** Returns the width of the widest text in each column. */
function widthsOf(rows: readonly Row[]): Widths {
  const widest = (column: keyof Widths) =>
    Math.max(0, ...rows.map((row) => row[column].length));
  return {
    name: widest("name"),
    left: widest("left"),
    used: widest("used"),
    reset: widest("reset"),
    notice: widest("notice"),
  };
}

const GAP = "  ";

/** The narrowest useful bar. With less room, a window takes three lines instead of one. */
const MIN_BAR = 10;
const MAX_BAR = 30;

/** Draws a row in one line when its columns fit, else in three. */
function drawRow(row: Row, options: RowOptions): readonly string[] {
  const { name, left, used, reset, notice } = options.widths;
  const texts = [name, left, used, reset, notice].filter((width) => width > 0);
  const taken = texts.reduce((sum, width) => sum + GAP.length + width, 0);
  const room = options.columns - taken - GAP.length;
  return room >= MIN_BAR
    ? [wideLine(row, { ...options, bar: Math.min(MAX_BAR, room) })]
    : narrowLines(row, options);
}

function wideLine(
  { window, name, left, used, reset, notice }: Row,
  { widths, paint, bar }: RowOptions & { readonly bar: number },
): string {
  const cells = [
    "",
    name.padEnd(widths.name),
    drawBar(window, { width: bar, paint }),
    left.padStart(widths.left),
    used.padStart(widths.used),
    paint("dim", reset.padEnd(notice === "" ? 0 : widths.reset)),
    paint(STYLES[levelOf(window)], notice),
  ];
  return cells.join(GAP).trimEnd();
}

function narrowLines(
  { window, name, left, used, reset, notice }: Row,
  { columns, paint }: RowOptions,
): readonly string[] {
  const width = Math.max(1, Math.min(MAX_BAR, columns - GAP.length));
  const bar = drawBar(window, { width, paint });
  const texts = [left, used, reset].filter((text) => text !== "").join(", ");
  const heading = [name, paint(STYLES[levelOf(window)], notice)];
  return [heading.join(GAP).trimEnd(), bar, texts]
    .filter((line) => line.trim() !== "")
    .map((line) => GAP + line);
}

const LEFT = "█";
const GONE = "░";
const UNKNOWN = "·";

/** The colour of each level; the words beside the bar carry the same information. */
const STYLES: Readonly<Record<Level, Style>> = {
  unknown: "dim",
  plenty: "green",
  low: "yellow",
  scarce: "red",
  gone: "red",
  over: "magenta",
};

/**
 * Draws the bar of a window, filled from the left by what is left. A stock has no size, so it has no bar.
 *
 * @param width In characters.
 */
function drawBar(
  window: QuotaWindow,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string {
  const percent = leftPercent(window);
  if (percent === null) {
    const isStock = window.remaining !== null && window.limit === null;
    return isStock ? " ".repeat(width) : paint("dim", UNKNOWN.repeat(width));
  }
  const left = leftCells(percent, width);
  return paint(STYLES[levelOf(window)], LEFT.repeat(left)) +
    paint("dim", GONE.repeat(width - left));
}

/** Returns the filled cells: at least one for any remainder, and at least one empty for any use. */
function leftCells(percent: number, width: number): number {
  if (percent <= 0) return 0;
  if (percent >= 100) return width;
  return Math.min(width - 1, Math.max(1, Math.round(percent / 100 * width)));
}
