/** Adds a colour or a weight to a text. */
export type Paint = (style: Style, text: string) => string;

/** A colour or weight of text. */
export type Style = keyof typeof CODES;

/** The codes of ECMA-48, "Select Graphic Rendition". */
const CODES = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  magenta: 35,
} as const;

/** Paints text for a terminal with colours. */
export function inColour(style: Style, text: string): string {
  return text === "" ? "" : `\x1b[${CODES[style]}m${text}\x1b[0m`;
}

/** Returns text unchanged, for an output without colours. */
export function withoutColour(_style: Style, text: string): string {
  return text;
}

/** The screen and the clock of a command that draws. */
export interface Screen {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns the width of the terminal in characters; undefined when the output is not a terminal. */
  readonly columns: () => number | undefined;
}

/** The width and the colours of an output. */
export interface Page {
  /** The width of a line, in characters. */
  readonly columns: number;
  readonly paint: Paint;
}

/** The width of a line in a file. Most tables fit, and so does a quota window in one line. */
const COLUMNS_OF_A_FILE = 120;

/** Returns the page that a command draws on. */
export function pageOf(
  { columns, env }: Pick<Screen, "columns"> & {
    readonly env: (name: string) => string | undefined;
  },
): Page {
  const width = columns();
  return {
    columns: width ?? COLUMNS_OF_A_FILE,
    paint: hasColours(width !== undefined, env) ? inColour : withoutColour,
  };
}

/** Returns true for a terminal with colours, unless `NO_COLOR` is set (https://no-color.org). */
export function hasColours(
  isTerminal: boolean,
  env: (name: string) => string | undefined,
): boolean {
  return isTerminal && !env("NO_COLOR") && env("TERM") !== "dumb";
}

/**
 * Wraps a line between words, so that a terminal does not break it within a word. A word longer than a line stays
 * whole.
 *
 * @param columns The width of a line, in characters; colour codes count as none.
 * @returns The line itself when it fits; else several lines, indented like the line itself.
 */
export function wrapWords(line: string, columns: number): readonly string[] {
  if (widthOf(line) <= columns) return [line];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  for (const word of line.split(" ").filter((one) => one !== "")) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last !== undefined && widthOf(longer) <= columns) {
      lines[lines.length - 1] = longer;
    } else lines.push(indent + word);
  }
  return lines;
}

/** Returns the width of a text in characters; colour codes count as none. */
export function widthOf(text: string): number {
  return text.replaceAll(/\p{Cc}\[\d+m/gu, "").length;
}

/**
 * Makes a foreign text safe for one line of a terminal. It removes control characters, which could move the cursor,
 * and marks that change the direction of writing.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
}

/** Returns a number with its noun: `1 model`, `2,000 models`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Adds a full stop to a sentence that has no end mark. */
export function endSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
