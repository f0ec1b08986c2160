import { stripVTControlCharacters } from "node:util";

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
