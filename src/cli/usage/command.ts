import { noLines, readLog } from "../../observe/read_log.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { hasColours, inColour, withoutColour } from "../text.ts";
import { endSentence } from "../text.ts";
import { csvLines, jsonParts } from "./export.ts";
import { drawTable } from "./table.ts";
import {
  createTotals,
  type Grouping,
  GROUPINGS,
  type TotalsBuilder,
} from "./totals.ts";

/** The dependencies of {@linkcode runUsage}. */
interface UsageTools extends CliIo {
  /** Returns the identity of a file, which is the same under each of its names; `undefined` without a file. */
  readonly identify: (path: string) => Promise<string | undefined>;
  /**
   * Opens a log.
   *
   * @param path The path of a file; undefined for standard input.
   * @param isWanted Returns true when the file with this identity is to be read; called once.
   * @returns The bytes of the log; `undefined` when it is not wanted.
   * @throws {Error} When it cannot be opened, with a reason for people.
   */
  readonly open: (
    path: string | undefined,
    isWanted: (id: string) => boolean,
  ) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Returns true when standard input is a terminal. */
  readonly isTyped: () => boolean;
  /** Returns the width of the terminal in characters; undefined when the output is not a terminal. */
  readonly columns: () => number | undefined;
}

/**
 * `usage`: adds up the usage of the requests in a log. A log that cannot be read to its end is reported, and counts as
 * far as it was read.
 *
 * @returns The exit code.
 */
export async function runUsage(
  args: readonly string[],
  tools: UsageTools,
): Promise<number> {
  const options = readUsageOptions(args);
  if ("fault" in options) return badUsage(options.fault, USAGE, tools);
  const totals = createTotals(options.by);
  const lines = noLines();
  const isWhole = await addLogs(options.paths, { totals, lines, tools });
  print(totals, { lines, options, tools });
  const isForeign = lines.requests + lines.other === 0 && lines.unreadable > 0;
  if (isForeign) tools.writeError(FOREIGN);
  return isWhole && !isForeign ? EXIT.good : EXIT.failed;
}

const FOREIGN =
  "Cannot add up the log: no line is one of the gateway's JSON log. Serve without --log text to write one.\n";

type Lines = ReturnType<typeof noLines>;

/** The targets of the lines of logs. */
interface Adding {
  readonly totals: TotalsBuilder;
  readonly lines: Lines;
  readonly tools: UsageTools;
}

/**
 * Adds each file once, even when it is given under several names, or renamed by a rotation meanwhile.
 *
 * @returns True when all logs were read to their ends.
 */
async function addLogs(
  paths: readonly string[],
  adding: Adding,
): Promise<boolean> {
  const ids = await Promise.all(
    paths.map((path) =>
      path === STANDARD_INPUT ? undefined : adding.tools.identify(path)
    ),
  );
  const seen = new Set<string>();
  let isWhole = true;
  for (const [index, path] of paths.entries()) {
    const fault = await addLog(path, seen, adding);
    if (fault === undefined) continue;
    reportUnread(path, fault, adding);
    isWhole = false;
    seen.add(ids[index] ?? path);
  }
  for (const [index, path] of paths.entries()) {
    const id = ids[index];
    if (id === undefined || seen.has(id)) continue;
    const fault = "it was renamed meanwhile. Run the command again";
    reportUnread(path, fault, adding);
    isWhole = false;
    seen.add(id);
  }
  return isWhole;
}

function reportUnread(path: string, fault: string, { tools }: Adding): void {
  const name = path === STANDARD_INPUT ? "standard input" : path;
  tools.writeError(`Cannot read ${name} to its end: ${endSentence(fault)}\n`);
}

/**
 * Adds a log, unless the same file was added before.
 *
 * @returns The reason why it was not read to its end; `undefined` when it was.
 */
async function addLog(
  path: string,
  seen: Set<string>,
  { totals, lines, tools }: Adding,
): Promise<string | undefined> {
  const isInput = path === STANDARD_INPUT;
  if (isInput && tools.isTyped()) tools.writeError(TYPED);
  try {
    const chunks = await tools.open(
      isInput ? undefined : path,
      (id) => {
        const isNew = !seen.has(id);
        seen.add(id);
        return isNew;
      },
    );
    if (chunks === undefined) return undefined;
    await readLog(chunks, { counts: lines, onRequest: totals.add });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "unknown error";
  }
}

const TYPED =
  "Reading standard input. Press Ctrl-D to end it, or use --help for more.\n";

/** The width of a table in a file, enough for most tables. */
const COLUMNS_OF_A_FILE = 120;

function print(
  builder: TotalsBuilder,
  { lines, options, tools }: {
    readonly lines: Lines;
    readonly options: UsageOptions;
    readonly tools: UsageTools;
  },
): void {
  const totals = builder.finish();
  if (options.format === "json") {
    return writeTogether(jsonParts(totals, lines), tools);
  }
  if (options.format === "csv") {
    writeTogether(csvLines(totals), tools);
    if (lines.unreadable > 0) {
      tools.writeError(`Unreadable lines: ${lines.unreadable}.\n`);
    }
    return;
  }
  const width = tools.columns();
  const isTerminal = width !== undefined;
  tools.write(drawTable(totals, lines, {
    columns: width ?? COLUMNS_OF_A_FILE,
    paint: hasColours(isTerminal, tools.env) ? inColour : withoutColour,
  }));
}

/** The length of the text that is written at once, in UTF-16 code units. */
const BATCH_LENGTH = 64 * 1024;

function writeTogether(parts: Iterable<string>, { write }: CliIo): void {
  let batch = "";
  for (const part of parts) {
    batch += part;
    if (batch.length < BATCH_LENGTH) continue;
    write(batch);
    batch = "";
  }
  write(batch);
}

/** The format of the printed totals. */
type UsageFormat = "table" | "json" | "csv";

/** The options of `usage`. */
interface UsageOptions {
  /** The paths of the logs, each once and in order; `-` is standard input. */
  readonly paths: readonly string[];
  /** The groupings of the rows; at least one. */
  readonly by: readonly Grouping[];
  readonly format: UsageFormat;
}

/** The path that names standard input. */
const STANDARD_INPUT = "-";

/** The arguments and the help of `usage`. */
export const USAGE: CommandSpec = {
  name: "usage",
  operands: "[LOG...]",
  takesFiles: true,
  summary: "add up the usage of the requests in a log",
  options: [
    {
      name: "by",
      value: "LIST",
      summary: `${GROUPINGS.join(", ")}; several with commas; default token`,
    },
    { name: "json", summary: "print the totals as one line" },
    { name: "csv", summary: "print the totals for a spreadsheet" },
  ],
  details: [
    "LOG is a file with the gateway's JSON log, plain or compressed with gzip or zstd.\nWithout LOG, or with -, the command reads standard input. A file counts once, even when\nit is given under several names.",
  ],
};

/** Reads the options of `usage`; returns their first fault if there is one. */
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
    const fault = `--by must list some of ${GROUPINGS.join(", ")}, each once`;
    return { fault };
  }
  // The order of the names is the order of the columns.
  return {
    groupings: groupings.toSorted((a, b) =>
      words.indexOf(a) - words.indexOf(b)
    ),
  };
}
