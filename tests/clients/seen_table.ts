import { stripVTControlCharacters } from "node:util";

/** A row of the tables in docs/reference/messages.md. */
export interface SeenRow {
  /** The heading above the table. */
  readonly failure: string;
  /** The client, as the first column names it. */
  readonly client: string;
  /** The texts in code marks, all of which the client prints; `…` stands for anything within a line. */
  readonly printed: readonly string[];
  readonly ends: Ending;
}

/** The time of a client's end, with which the last column begins. */
export type Ending = "in seconds" | "in minutes" | "never";

const ENDINGS: readonly Ending[] = ["in seconds", "in minutes", "never"];

/**
 * Reads the tables of printed messages in docs/reference/messages.md.
 *
 * @throws Error at a row without a text in code marks, or with another ending.
 */
export function readSeenRows(page: string): readonly SeenRow[] {
  return page.split(/^## /m).slice(1).flatMap((part) => {
    const [failure = ""] = part.split("\n", 1);
    return [...part.matchAll(ROW_REGEXP)]
      .map(([row, client = "", words = "", end = ""]): SeenRow => {
        const printed = [...words.matchAll(/`([^`]+)`/g)]
          .map(([, text = ""]) => text);
        const ends = ENDINGS.find((one) => end.startsWith(one));
        if (printed.length === 0 || ends === undefined) {
          throw new Error(`The row cannot be checked: ${row}`);
        }
        return { failure, client, printed, ends };
      });
  });
}

/** Matches a row of three cells, but not a head or the line below it. */
const ROW_REGEXP =
  /^\| (?!client|---)([^|]+?) +\| ([^|]+?) +\| ([^|]+?) +\|$/gm;

/**
 * Returns true if a client has printed a text, in which `…` stands for anything within a line.
 */
export function hasPrinted(output: string, text: string): boolean {
  const pattern = text.split(/\s*…\s*/).map((part) => RegExp.escape(part));
  return new RegExp(pattern.join(".*?")).test(stripVTControlCharacters(output));
}
