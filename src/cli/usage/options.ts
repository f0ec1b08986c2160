import { readArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";
import { type Grouping, GROUPINGS } from "./totals.ts";

/** How the totals are printed. */
export type UsageFormat = "table" | "json" | "csv";

/** What the command line says of `usage`. */
export interface UsageOptions {
  /** The files, each once and in order; `-` is standard input. */
  readonly paths: readonly string[];
  /** What each row is about; at least one. */
  readonly by: readonly Grouping[];
  readonly format: UsageFormat;
}

/** Standard input, where a file is named. */
export const STANDARD_INPUT = "-";

/** `usage`. */
export const USAGE: CommandSpec = {
  name: "usage",
  operands: "[LOG...]",
  takesFiles: true,
  summary: "add up what the requests of a log have used",
  options: [
    {
      name: "by",
      value: "LIST",
      summary: `${GROUPINGS.join(", ")}, or some with commas; else token`,
    },
    { name: "json", summary: "print the totals as one line" },
    { name: "csv", summary: "print the totals for a spreadsheet" },
  ],
  details: [
    "LOG is a file with the gateway's JSON log, also packed by gzip or zstd; - or none is\nstandard input. A file that several names lead to counts once.",
  ],
};

/** Reads the options of `usage`, or says what is wrong with them. */
export function readUsageOptions(
  args: readonly string[],
): UsageOptions | { readonly fault: string } {
  const read = readArguments(USAGE, args);
  if ("fault" in read) return read;
  const { values, flags, operands } = read;
  const by = readGroupings(values.get("by") ?? "token");
  if ("fault" in by) return by;
  if (flags.has("json") && flags.has("csv")) {
    return { fault: "--json and --csv exclude each other" };
  }
  return {
    paths: operands.length === 0 ? [STANDARD_INPUT] : [...new Set(operands)],
    by: by.groupings,
    format: flags.has("json") ? "json" : flags.has("csv") ? "csv" : "table",
  };
}

function readGroupings(
  list: string,
): { readonly groupings: readonly Grouping[] } | { readonly fault: string } {
  const words = list.split(",").map((word) => word.trim());
  const groupings = GROUPINGS.filter((one) => words.includes(one));
  const isKnown = groupings.length === words.length;
  if (!isKnown) {
    const fault = `--by must be some of ${GROUPINGS.join(", ")}, each once`;
    return { fault };
  }
  // In the order in which they were named: it is that of the columns.
  return {
    groupings: groupings.toSorted((a, b) =>
      words.indexOf(a) - words.indexOf(b)
    ),
  };
}
