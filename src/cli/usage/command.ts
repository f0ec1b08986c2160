import { noLines, readLog } from "../../observe/read_log.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { hasColours, inColour, withoutColour } from "../text.ts";
import { csvLines, jsonPieces } from "./export.ts";
import { drawTable } from "./table.ts";
import {
  createTotals,
  type Grouping,
  GROUPINGS,
  type TotalsBuilder,
} from "./totals.ts";

/** What {@linkcode runUsage} works with. */
interface UsageTools extends CliIo {
  /** Returns what a file is known by, whatever it is called; `undefined` where there is none. */
  readonly identify: (path: string) => Promise<string | undefined>;
  /**
   * Opens a log.
   *
   * @param path A file; undefined for standard input.
   * @param isWanted Whether the file that is known by this is to be read; asked once.
   * @returns Its bytes; `undefined` where it is not wanted.
   * @throws When it cannot be opened, with a reason for people.
   */
  readonly open: (
    path: string | undefined,
    isWanted: (id: string) => boolean,
  ) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whether a person types the standard input. */
  readonly isTyped: () => boolean;
  /** How many characters a line of the terminal holds; undefined when the output goes elsewhere. */
  readonly columns: () => number | undefined;
}

/**
 * `usage`: adds up what the requests of a log have used. A log that cannot be read to its end is told and counts as
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
  "No line is one of the gateway's JSON log: with --log text it cannot be added up\n";

type Lines = ReturnType<typeof noLines>;

/** Where logs are added. */
interface Adding {
  readonly totals: TotalsBuilder;
  readonly lines: Lines;
  readonly tools: UsageTools;
}

/**
 * Adds each file once, by however many names it is given: also where a rotation renames files meanwhile.
 *
 * @returns Whether all logs were read to their ends.
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
    complain(path, fault, adding);
    isWhole = false;
    seen.add(ids[index] ?? path);
  }
  for (const [index, path] of paths.entries()) {
    const id = ids[index];
    if (id === undefined || seen.has(id)) continue;
    complain(path, "it was renamed meanwhile; run the command again", adding);
    isWhole = false;
    seen.add(id);
  }
  return isWhole;
}

function complain(path: string, fault: string, { tools }: Adding): void {
  const name = path === STANDARD_INPUT ? "standard input" : path;
  tools.writeError(`Cannot read ${name} to its end: ${fault}\n`);
}

/**
 * Adds a log, unless it is one that was seen.
 *
 * @returns Why it was not read to its end; `undefined` where it was.
 */
async function addLog(
  path: string,
  seen: Set<string>,
  { totals, lines, tools }: Adding,
): Promise<string | undefined> {
  const isInput = path === STANDARD_INPUT;
  if (isInput && tools.isTyped()) tools.writeError(TYPED);
  try {
    const pieces = await tools.open(
      isInput ? undefined : path,
      (id) => {
        const isNew = !seen.has(id);
        seen.add(id);
        return isNew;
      },
    );
    if (pieces === undefined) return undefined;
    await readLog(pieces, { counts: lines, onRequest: totals.add });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "unknown error";
  }
}

const TYPED = "Reading standard input; Ctrl-D ends it, --help tells more\n";

/** Wide enough for most tables. */
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
    return writeTogether(jsonPieces(totals, lines), tools);
  }
  if (options.format === "csv") {
    writeTogether(csvLines(totals), tools);
    if (lines.unreadable > 0) {
      tools.writeError(`${lines.unreadable} lines are unreadable\n`);
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

/** What is written at once, in UTF-16 code units. */
const BATCH_LENGTH = 64 * 1024;

function writeTogether(pieces: Iterable<string>, { write }: CliIo): void {
  let batch = "";
  for (const piece of pieces) {
    batch += piece;
    if (batch.length < BATCH_LENGTH) continue;
    write(batch);
    batch = "";
  }
  write(batch);
}

/** How the totals are printed. */
type UsageFormat = "table" | "json" | "csv";

/** What the command line says of `usage`. */
interface UsageOptions {
  /** The files, each once and in order; `-` is standard input. */
  readonly paths: readonly string[];
  /** What each row is about; at least one. */
  readonly by: readonly Grouping[];
  readonly format: UsageFormat;
}

/** Standard input, where a file is named. */
const STANDARD_INPUT = "-";

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
