import { noLines, readLog } from "../../observe/read_log.ts";
import { hasColours, inColour, withoutColour } from "../colours.ts";
import { type CliIo, EXIT } from "../io.ts";
import { badUsage } from "../usage_error.ts";
import { csvLines } from "./csv.ts";
import { jsonPieces } from "./json.ts";
import {
  readUsageOptions,
  STANDARD_INPUT,
  USAGE,
  type UsageOptions,
} from "./options.ts";
import { drawTable } from "./table.ts";
import { createTotals, type TotalsBuilder } from "./totals.ts";

/** What {@linkcode runUsage} works with. */
export interface UsageTools extends CliIo {
  /**
   * The bytes of a log.
   *
   * @param path A file; undefined for standard input.
   * @throws When it cannot be opened, with a reason for people.
   */
  readonly open: (
    path: string | undefined,
  ) => Promise<AsyncIterable<Uint8Array>>;
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
  let isWhole = true;
  for (const path of options.paths) {
    isWhole = await addLog(path, { totals, lines, tools }) && isWhole;
  }
  print(totals, { lines, options, tools });
  const isForeign = lines.requests + lines.other === 0 && lines.unreadable > 0;
  if (isForeign) tools.writeError(FOREIGN);
  return isWhole && !isForeign ? EXIT.good : EXIT.failed;
}

const FOREIGN =
  "No line is one of the gateway's JSON log: with --log text it cannot be added up\n";

type Lines = ReturnType<typeof noLines>;

/** @returns Whether the log was read to its end. */
async function addLog(
  path: string,
  { totals, lines, tools }: {
    readonly totals: TotalsBuilder;
    readonly lines: Lines;
    readonly tools: UsageTools;
  },
): Promise<boolean> {
  const isInput = path === STANDARD_INPUT;
  if (isInput && tools.isTyped()) tools.writeError(TYPED);
  try {
    const pieces = await tools.open(isInput ? undefined : path);
    await readLog(pieces, { counts: lines, onRequest: totals.add });
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown error";
    const name = isInput ? "standard input" : path;
    tools.writeError(`Cannot read ${name} to its end: ${reason}\n`);
    return false;
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
