import {
  checkedText,
  failingText,
  type FailureMeaning,
  failureMeaning,
  leftPercent,
  leftText,
  type Level,
  LEVEL_TEXTS,
  levelOf,
  nameParts,
  type OwnLimits,
  resetText,
  serviceText,
  STATUS_MEANINGS,
  usedText,
  waitingText,
} from "@gateway/page/wording";
import type {
  ConnectionEntry,
  QuotaList,
  QuotaWindow,
} from "@gateway/page/answers";
import { alignColumns, drawBar } from "../table.ts";
import {
  type Page,
  type Paint,
  plainText,
  type Style,
  widthOf,
  wrapWords,
} from "@gateway/base/text";

interface DrawOptions extends Page {
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Draws the token's own limits, then each connection with its windows, as lines of a terminal. */
export function drawLimits(
  list: QuotaList,
  options: DrawOptions & { readonly own?: readonly OwnLimits[] | undefined },
): string {
  const { own = [], columns } = options;
  const drawn = drawSections([
    ...own.map((one) => ownSection(one, options)),
    ...list.data.map((entry) => connectionSection(entry, options)),
  ], options);
  if (list.data.length === 0) {
    const text =
      "No connection is assigned to this token. Ask the administrator.";
    drawn.push(`${wrapWords(text, columns).join("\n")}\n`);
  }
  return drawn.join("\n");
}

/** Draws only the limits of a token and its group, without connections. */
export function drawOwnLimits(
  own: readonly OwnLimits[],
  options: DrawOptions,
): string {
  const sections = own.map((one) => ownSection(one, options));
  return drawSections(sections, options).join("\n");
}

/** A heading with windows or lines of text below it. */
interface Section {
  readonly head: string;
  readonly body: readonly (QuotaWindow | string)[];
}

function ownSection(
  { name, note, limits }: OwnLimits,
  { paint }: Page,
): Section {
  return { head: headLine(name, note, paint), body: limits };
}

function headLine(name: string, note: string, paint: Paint): string {
  return `${paint("bold", plainText(name))}  ${paint("dim", note)}`;
}

function connectionSection(
  entry: ConnectionEntry,
  { paint, nowMs }: DrawOptions,
): Section {
  const { name, service, checked_at, cached, status, limits } = entry;
  const { waiting, failing } = entry;
  const note = [
    plainText(serviceText(service)),
    checkedText(checked_at, nowMs),
    ...(cached ? ["from the gateway's cache"] : []),
    ...(waiting === undefined ? [] : [waitingText(waiting)]),
  ].join(", ");
  const head = headLine(name, note, paint);
  const health = failing === undefined
    ? []
    : [paint("red", failingText(failing, nowMs))];
  // The advice about an unreadable quota says that requests are unaffected. If requests fail, this is not true.
  const isDenied = failing !== undefined && status === "unsupported";
  const windows = limits.length > 0
    ? limits
    : ["the provider reports no window"];
  const body = status === "ok"
    ? windows
    : stateLines(entry, paint).slice(0, isDenied ? 1 : undefined);
  return { head, body: [...health, ...body] };
}

function stateLines(
  { status, error }: ConnectionEntry,
  paint: Paint,
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
  paint: Paint,
): readonly string[] {
  return [paint("dim", title.toLowerCase()), advice];
}

const INDENT = "  ";

/**
 * The narrowest bar, in characters. When a line has no room for this bar, a window takes three lines instead of one.
 */
const MIN_BAR = 10;
const MAX_BAR = 30;

/** Draws sections. The windows of all sections are aligned in the same columns. */
function drawSections(
  sections: readonly Section[],
  { columns, paint, nowMs }: DrawOptions,
): string[] {
  const windows = sections.flatMap(({ body }) => body)
    .filter((one) => typeof one !== "string");
  const rows = windows.map((window) => rowOf(window, { paint, nowMs }));
  const withoutBars = wideLines(rows, 0).map(widthOf);
  const room = columns - INDENT.length;
  const width = room - Math.max(0, ...withoutBars) - GAP.length;
  const drawn = width >= MIN_BAR
    ? wideLines(rows, Math.min(MAX_BAR, width)).map((line) => [line])
    : rows.map((row) => narrowLines(row, Math.max(1, Math.min(MAX_BAR, room))));
  const byWindow = new Map(
    windows.map((window, index) => [window, drawn[index] ?? []]),
  );
  return sections.map(({ head, body }) => {
    const lines = body
      .flatMap((one) => typeof one === "string" ? one : byWindow.get(one) ?? [])
      .map((line) => INDENT + line);
    return [head, ...lines, ""].flatMap((line) => wrapWords(line, columns))
      .join("\n");
  });
}

const GAP = "  ";

/** The texts beside a window's bar. */
interface Row {
  readonly name: string;
  readonly left: string;
  readonly used: string;
  readonly reset: string;
  /** The warning when the window needs attention; otherwise empty. */
  readonly notice: string;
  /** Draws the bar of the window with this width, in characters. */
  readonly bar: (width: number) => string;
}

function rowOf(
  window: QuotaWindow,
  { paint, nowMs }: Omit<DrawOptions, "columns">,
): Row {
  const level = levelOf(window);
  const style = STYLES[level];
  const percent = leftPercent(window);
  const isStock = window.remaining !== null && window.limit === null;
  const isNotable = level !== "plenty" && level !== "unknown";
  return {
    name: plainText(nameParts(window).join(" ")),
    left: plainText(leftText(window)),
    used: plainText(usedText(window)),
    reset: paint("dim", resetText(window, nowMs)),
    notice: isNotable ? paint(style, LEVEL_TEXTS[level]) : "",
    bar: (width) => {
      if (percent !== null) return drawBar(percent, { width, style, paint });
      // A stock has no size, so no bar is drawn for a stock.
      return isStock ? "" : paint("dim", UNKNOWN.repeat(width));
    },
  };
}

const UNKNOWN = "·";

/** The colour of each level. The words beside the bar say the same as the colour. */
const STYLES: Readonly<Record<Level, Style>> = {
  unknown: "dim",
  plenty: "green",
  low: "yellow",
  scarce: "red",
  gone: "red",
  over: "magenta",
};

/** Draws each window in one line. `width` is the width of the bars in characters; with 0, no bar is drawn. */
function wideLines(rows: readonly Row[], width: number): readonly string[] {
  const cells = rows.map(({ name, bar, left, used, reset, notice }) => [
    name,
    width > 0 ? bar(width) : "",
    left,
    used,
    reset,
    notice,
  ]);
  const isLeft = (index: number) => index !== 2 && index !== 3;
  return alignColumns(cells, { columns: Infinity, isLeft }) ?? [];
}

/** Draws a window in three lines: the name, the bar and the numbers. */
function narrowLines(
  { name, left, used, reset, notice, bar }: Row,
  width: number,
): readonly string[] {
  const numbers = [left, used, reset].filter((text) => text !== "").join(", ");
  return [`${name}${GAP}${notice}`.trimEnd(), bar(width), numbers]
    .filter((line) => line !== "");
}
