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
