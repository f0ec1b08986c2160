import { stripVTControlCharacters } from "node:util";

/** Puts a text into a colour or a weight. */
export type Paint = (style: Style, text: string) => string;

/** What a text may look like. */
export type Style = keyof typeof CODES;

/** Of ECMA-48, "Select Graphic Rendition". */
const CODES = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  magenta: 35,
} as const;

/** A terminal with colours. */
export function inColour(style: Style, text: string): string {
  return text === "" ? "" : `\x1b[${CODES[style]}m${text}\x1b[0m`;
}

/** Anything else. */
export function withoutColour(_style: Style, text: string): string {
  return text;
}

/**
 * Whether to write in colours: to a terminal that has them, unless `NO_COLOR` is set (https://no-color.org).
 */
export function hasColours(
  isTerminal: boolean,
  env: (name: string) => string | undefined,
): boolean {
  return isTerminal && !env("NO_COLOR") && env("TERM") !== "dumb";
}

/**
 * Breaks a line between its words, so that a terminal does not break it within one. A word that is longer
 * than a line stays whole.
 *
 * @param columns How many characters fit into a line; colours take none.
 * @returns The line as it is where it fits; else lines that keep its indentation.
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

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/**
 * A text from elsewhere, fit for one line of a terminal: without control characters, which could move the
 * cursor, and without marks that turn the direction of writing.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
}
