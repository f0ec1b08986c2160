import { type Connection, readFault } from "@gateway/gateway/config";
import { noLines } from "@gateway/gateway/log";
import {
  findConfigPath,
  loadConfigFile,
  missingFileHint,
  readText,
} from "@gateway/gateway/process";
import {
  type Arguments,
  BadArguments,
  command,
  CommandFailed,
  type Run,
} from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { reportProblems } from "../commands/check.ts";
import type { RequestTools } from "../gateway_client.ts";
import { endSentence, pageOf, type Screen } from "@gateway/base/text";
import { addLogs, dayMs, type Days, type LogTools } from "../usage/add_logs.ts";
import { createComparison } from "./compare.ts";
import {
  compared,
  comparisonCsv,
  comparisonJson,
  drawComparison,
} from "./print.ts";
import {
  type BillLine,
  DAY_MS,
  fetchReport,
  type Provider,
  PROVIDERS,
  readReport,
} from "./reports.ts";

interface ReconcileTools extends CliIo, Screen, RequestTools, LogTools {}

/** The arguments and the help of `reconcile`. */
export const RECONCILE: CommandSpec = {
  name: "reconcile",
  operands: "LOG...",
  takesFiles: true,
  summary: "compare the cost in a log with the provider's bill",
  options: [
    { name: "from", value: "DAY", summary: "the first day in UTC" },
    { name: "to", value: "DAY", summary: "the last day in UTC" },
    {
      name: "admin-key-file",
      value: "FILE",
      summary: "an administrator's key",
    },
    {
      name: "export",
      value: "FILE",
      summary: "the provider's reports, in place of a key",
    },
    { name: "connection", value: "NAME", summary: "one connection alone" },
    { name: "key-id", value: "ID", summary: "the use of one key alone" },
    { name: "tolerance", value: "PERCENT", summary: "default: 0.5" },
    { name: "config", value: "FILE", summary: "the file with the prices" },
    { name: "json", summary: "print the comparison as one line" },
    { name: "csv", summary: "print the comparison for a spreadsheet" },
  ],
  details: [
    "It reads the reports of Anthropic, OpenAI or OpenRouter with the administrator's key, or\nfrom a file, and names the causes of each difference. LOG is as for `usage`.",
    "The exit code is 0 when the difference is within the tolerance. The difference is the\nsum of the models' absolute differences, as a share of the bill.",
  ],
};

/**
 * `reconcile`: compares the cost in logs with a provider's own report, by connection, day and model.
 *
 * @returns The exit code.
 */
export const runReconcile: Run<ReconcileTools> = command(
  RECONCILE,
  async (read, tools) => {
    const options = readOptions(read, tools.now());
    const { values, flags, days, paths, tolerance } = options;
    const path = findConfigPath({
      option: values.get("config"),
      env: tools.env,
    });
    const result = await loadConfigFile(path, { env: tools.env });
    if ("problems" in result) {
      const hint = missingFileHint(result);
      return reportProblems(result.problems, { path, io: tools, hint });
    }
    const chosen = choose(result.config.connections, values.get("connection"));
    const { connections, provider } = chosen;
    const progress = (text: string) => {
      if (tools.columns() !== undefined) tools.writeError(`\r${text}\x1b[K`);
    };
    const comparison = createComparison({ connections, provider, days });
    const reading = { options, tools, progress };
    const bill = await readBill(chosen, reading).catch((error) => {
      progress("");
      const reason = error instanceof Error ? error.message : "unknown";
      throw new CommandFailed(
        `Cannot read the bill of ${provider.name}: ${endSentence(reason)}`,
      );
    });
    comparison.addBill(bill);
    const lines = noLines();
    const isWhole = await addLogs(paths, {
      onRequest: comparison.addRequest,
      lines,
      tools: {
        ...tools,
        open(path, isWanted) {
          progress(`Reading ${path ?? "standard input"}`);
          return tools.open(path, isWanted);
        },
      },
    });
    progress("");
    const found = compared(comparison.finish());
    const connection = connections.map(({ name }) => name).join(" + ");
    tools.write(
      flags.has("json")
        ? comparisonJson(found, {
          provider: provider.name,
          connection,
          ...days,
          lines,
        })
        : flags.has("csv")
        ? comparisonCsv(found, connection)
        : drawComparison(found, pageOf(tools)),
    );
    return isWhole && found.differencePercent <= tolerance
      ? EXIT.good
      : EXIT.failed;
  },
);

/** The connections that a bill is for, all to one provider. */
interface Billed {
  readonly connections: readonly [Connection, ...Connection[]];
  readonly provider: Provider;
}

/** Returns the named connection. Without a name, returns all connections to the only provider that reports a bill. */
function choose(
  all: readonly Connection[],
  name: string | undefined,
): Billed {
  const [first, ...rest] = all.filter((one) =>
    PROVIDERS[one.service] !== undefined &&
    (name === undefined || one.name === name)
  );
  const provider = first && PROVIDERS[first.service];
  if (first === undefined || provider === undefined) {
    const such = name === undefined ? "" : "such ";
    throw new BadArguments(
      `no ${such}connection is to Anthropic, OpenAI or OpenRouter`,
    );
  }
  if (rest.every(({ service }) => PROVIDERS[service] === provider)) {
    return { connections: [first, ...rest], provider };
  }
  throw new BadArguments(
    "several providers have a bill. Name one with --connection",
  );
}

async function readBill(
  { connections: [{ endpoints }], provider }: Billed,
  { options: { values, days }, tools, progress }: {
    readonly options: ReconcileOptions;
    readonly tools: ReconcileTools;
    readonly progress: (text: string) => void;
  },
): Promise<readonly BillLine[]> {
  const file = values.get("export") ?? values.get("admin-key-file") ?? "";
  const text = await readText(file).catch((error) => {
    throw new Error(`${file} ${readFault(error)}`);
  });
  if (values.has("export")) return readReport(text);
  const firstMs = tools.now() - (provider.lastDays + 1) * DAY_MS;
  if (Date.parse(days.from) < firstMs) {
    throw new Error(`it reports only the last ${provider.lastDays} days`);
  }
  const [base = ""] = Object.values(endpoints);
  const key = values.get("key-id");
  return await fetchReport(
    { provider, base, days, key, adminKey: text.trim() },
    {
      tools,
      onPage: (page) => progress(`Reading ${provider.name}'s page ${page}`),
    },
  );
}

interface ReconcileOptions {
  readonly values: ReadonlyMap<string, string>;
  readonly flags: ReadonlySet<string>;
  readonly days: Days;
  readonly paths: readonly string[];
  readonly tolerance: number;
}

/** The most days of a report. */
const MAX_DAYS = 31;

function readOptions(
  { values, flags, operands }: Arguments,
  nowMs: number,
): ReconcileOptions {
  const days = { from: values.get("from") ?? "", to: values.get("to") ?? "" };
  const [fromMs, toMs] = [dayMs(days.from), dayMs(days.to)];
  const tolerance = Number(values.get("tolerance") ?? 0.5);
  const fault = !(fromMs <= toMs && toMs - fromMs < MAX_DAYS * DAY_MS)
    ? "--from and --to must be days such as 2026-11-01, 31 days at most"
    : toMs + DAY_MS > nowMs
    ? "--to must be a day that is over in UTC"
    : values.has("export") === values.has("admin-key-file")
    ? "it needs either --admin-key-file or --export"
    : !(tolerance >= 0)
    ? "--tolerance must be a number"
    : operands.length === 0
    ? "it needs a LOG"
    : flags.size > 1
    ? "--json and --csv exclude each other"
    : undefined;
  if (fault !== undefined) throw new BadArguments(fault);
  return { values, flags, days, paths: [...new Set(operands)], tolerance };
}
