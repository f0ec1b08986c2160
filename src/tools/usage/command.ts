import { noLines } from "@gateway/gateway/log";
import {
  type Arguments,
  BadArguments,
  command,
  type Run,
} from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  ADDRESS_OPTIONS,
  type GatewayAddress,
  NO_TOKEN,
  readGatewayAddress,
} from "../gateway_client.ts";
import { pageOf } from "@gateway/base/text";
import { addLogs, dayMs, type Days, type LogTools } from "./add_logs.ts";
import { csvLines, jsonParts } from "./export.ts";
import { type OwnUsageTools, printOwnUsage } from "./own.ts";
import { drawTotals } from "./table.ts";
import {
  createTotals,
  type Grouping,
  GROUPINGS,
  isGrouping,
  type TotalsBuilder,
} from "./totals.ts";

interface UsageTools extends OwnUsageTools, LogTools {}

/** The arguments and the help of `usage`. */
export const USAGE: CommandSpec = {
  name: "usage",
  operands: "[LOG...]",
  takesFiles: true,
  summary: "show your usage and your limits, or add up the requests in a log",
  options: [
    ...ADDRESS_OPTIONS,
    {
      name: "by",
      value: "LIST",
      summary: `${GROUPINGS.join(", ")} or a header, or a list`,
    },
    {
      name: "from",
      value: "DAY",
      summary: "add up a log's requests from this day on, in UTC",
    },
    {
      name: "to",
      value: "DAY",
      summary: "add up a log's requests until this day, in UTC",
    },
    { name: "json", summary: "print the usage or the totals as one line" },
    { name: "csv", summary: "print the totals for a spreadsheet" },
  ],
  details: [
    "Without LOG, the command asks the gateway for the usage of your token, and shows what\nthe token's limits have left.",
    "LOG is a file with the gateway's JSON log, plain or compressed with gzip or zstd, or -\nfor standard input. --by, --from, --to and --csv are for logs; the default is\n--by token and all days. A file counts once, even when it is given under several names.",
  ],
};

/**
 * `usage`: reads the usage and the limits of the caller's token from a running gateway. When logs are given, adds up
 * the usage of the requests in the logs instead. A log that cannot be read to its end is reported, and counts as far as
 * it was read.
 *
 * @returns The exit code.
 */
export const runUsage: Run<UsageTools> = command(USAGE, async (read, tools) => {
  const options = readUsageOptions(read, tools.env);
  if ("base" in options) return await printOwnUsage(options, tools);
  const totals = createTotals(options.by);
  const lines = noLines();
  const { add: onRequest } = totals;
  const { paths, days } = options;
  const isWhole = await addLogs(paths, { onRequest, days, lines, tools });
  print(totals, { lines, options, tools });
  const isForeign = days === undefined && lines.unreadable > 0 &&
    lines.requests + lines.other === 0;
  if (isForeign) tools.writeError(FOREIGN);
  return isWhole && !isForeign ? EXIT.good : EXIT.failed;
});

const FOREIGN =
  "Cannot add up the log: no line is one of the gateway's JSON log. Serve without --log text to write one.\n";

type Lines = ReturnType<typeof noLines>;

function print(
  builder: TotalsBuilder,
  { lines, options, tools }: {
    readonly lines: Lines;
    readonly options: LogOptions;
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
  tools.write(drawTotals(totals, lines, pageOf(tools)));
}

/** The length from which gathered text is written, in UTF-16 code units. */
const BATCH_LENGTH = 64 * 1024;

function writeTogether(parts: Iterable<string>, { write }: CliIo): void {
  let batch = "";
  for (const part of parts) {
    batch += part;
    if (batch.length < BATCH_LENGTH) continue;
    if (!write(batch)) return;
    batch = "";
  }
  write(batch);
}

/** The format of the printed totals. */
type UsageFormat = "table" | "json" | "csv";

/** The options of `usage` with logs. */
interface LogOptions {
  /** The paths of the logs, each once and in order; `-` is standard input. */
  readonly paths: readonly string[];
  /** The groupings of the rows; at least one. */
  readonly by: readonly Grouping[];
  /** The days to add up; `undefined` for all. */
  readonly days: Days | undefined;
  readonly format: UsageFormat;
}

/**
 * Reads the options of `usage`.
 *
 * @param env Reads `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN` from the environment.
 * @throws {BadArguments}
 */
export function readUsageOptions(
  { values, flags, operands }: Arguments,
  env: (name: string) => string | undefined,
): LogOptions | GatewayAddress & { readonly json: boolean } {
  const by = readGroupings(values.get("by") ?? "token");
  if (flags.has("json") && flags.has("csv")) {
    throw new BadArguments("--json and --csv exclude each other");
  }
  if (operands.length === 0) {
    const isForLogs = LOG_OPTIONS.some((name) =>
      values.has(name) || flags.has(name)
    );
    if (isForLogs) throw new BadArguments(NO_LOG);
    const address = readGatewayAddress(values, env);
    if (address.token === "") {
      throw new BadArguments(`${NO_TOKEN}. ${NO_LOG_EITHER}`);
    }
    return { ...address, json: flags.has("json") };
  }
  if (values.has("url") || values.has("token")) {
    throw new BadArguments(
      "--url and --token are for a gateway. Leave them out to add up a LOG",
    );
  }
  return {
    paths: [...new Set(operands)],
    by,
    days: readDays(values),
    format: flags.has("json") ? "json" : flags.has("csv") ? "csv" : "table",
  };
}

const NO_LOG_EITHER = "To add up a log, name its file, or - for standard input";

const NO_LOG = `--by, --from, --to and --csv need a LOG. ${NO_LOG_EITHER}`;

const LOG_OPTIONS = ["by", "from", "to", "csv"];

function readDays(values: ReadonlyMap<string, string>): Days | undefined {
  if (!values.has("from") && !values.has("to")) return undefined;
  const { from = "0000-01-01", to = "9999-12-31" } = Object.fromEntries(values);
  if (dayMs(from) <= dayMs(to)) return { from, to };
  throw new BadArguments(
    "--from and --to must be days such as 2026-11-01, in order",
  );
}

function readGroupings(list: string): readonly Grouping[] {
  const words = list.split(",").map((word) => word.trim());
  const groupings = words.filter(isGrouping);
  if (
    groupings.length === words.length && new Set(words).size === words.length
  ) return groupings;
  throw new BadArguments(
    `--by must list some of ${
      GROUPINGS.join(", ")
    } and headers such as x-project, each once`,
  );
}
