import { isJsonObject } from "@gateway/base/json";
import {
  amountOf,
  costMark,
  type Day,
  historyOf,
  historyText,
  type HolderHistory,
  localTime,
  ownLimits,
  resetText,
  unitOf,
} from "@gateway/page/wording";
import type { UsageReport, WindowUsage } from "@gateway/gateway/usage";
import { type CliIo, EXIT } from "../command.ts";
import {
  type GatewayAddress,
  readGateway,
  type RequestTools,
} from "../gateway_client.ts";
import { drawOwnLimits } from "../limits/draw.ts";
import {
  barColumn,
  type Column,
  countText,
  dollarsText,
  drawTable,
  wordColumn,
} from "../table.ts";
import {
  type Page,
  pageOf,
  plainText,
  type Screen,
  wrapWords,
} from "@gateway/base/text";

/** The dependencies of {@linkcode printOwnUsage}. */
export interface OwnUsageTools extends CliIo, Screen, RequestTools {}

/**
 * The timeout of the report. The gateway waits up to a second for quotas. The rest of the time is for a slow network.
 */
const DEADLINE_MS = 15_000;

/**
 * Reads the usage of a token from a running gateway. Draws the token's limits, each with the amount used, the amount
 * left and the reset. Then draws the token's usage in the current windows. With `json`, prints the response as one line
 * instead.
 *
 * @returns The exit code.
 * @throws {GatewayUnread}
 */
export async function printOwnUsage(
  { base, token, json }: GatewayAddress & { readonly json: boolean },
  tools: OwnUsageTools,
): Promise<number> {
  const report = await readGateway(
    { url: `${base}/v1/usage`, token, deadlineMs: DEADLINE_MS },
    tools,
    isReport,
  );
  tools.write(
    json ? `${JSON.stringify(report)}\n` : drawReport(report, tools),
  );
  return EXIT.good;
}

/** The parts of the report that are drawn. */
type Report = Pick<UsageReport, "token" | "since" | "limits"> & {
  readonly windows: readonly ReportedWindow[];
};

type ReportedWindow = Pick<WindowUsage, "resets_at"> & {
  readonly window: string;
  readonly total: Amounts;
};

type Amounts = Pick<
  Day,
  typeof COUNTS[number][0] | "cost_usd" | "unpriced_requests"
>;

/** The counts that are drawn, each with its heading. */
const COUNTS = [
  ["requests", "requests"],
  ["input_tokens", "input"],
  ["cached_input_tokens", "cached"],
  ["output_tokens", "output"],
] as const;

function amountColumns<Row>(amountsOf: (row: Row) => Amounts): Column<Row>[] {
  return [
    ...COUNTS.map(([name, heading]) => ({
      heading,
      text: (row: Row) => countText(amountsOf(row)[name]),
    })),
    {
      heading: "cost",
      text: (row) => {
        const amounts = amountsOf(row);
        return dollarsText(amounts.cost_usd) + costMark(amounts);
      },
    },
  ];
}

/**
 * Returns true when a body is a report (docs/usage.md#get-usage). Unknown fields are accepted, because the gateway may
 * be newer than this program. The limits are checked only by the code that draws them.
 */
function isReport(value: unknown): value is Report {
  return isJsonObject(value) && value.object === "usage" &&
    typeof value.token === "string" && typeof value.since === "string" &&
    Array.isArray(value.limits) &&
    Array.isArray(value.windows) && value.windows.every(isWindow);
}

function isWindow(value: unknown): value is ReportedWindow {
  if (!isJsonObject(value) || !isJsonObject(value.total)) return false;
  const { total } = value;
  return typeof value.window === "string" &&
    typeof value.resets_at === "string" &&
    COUNTS.every(([name]) => typeof total[name] === "number") &&
    (total.cost_usd === null || typeof total.cost_usd === "number");
}

function drawReport(report: Report, tools: OwnUsageTools): string {
  const options = { ...pageOf(tools), nowMs: tools.now() };
  const own = ownLimits(report) ?? [];
  const limits = own.length === 0
    ? "No limit of the gateway applies to this token.\n"
    : drawOwnLimits(own, options);
  const history = historyOf(report);
  const dear = history?.dearTurns;
  const dearNote = dear === undefined ? [] : [`This month: ${dear}`];
  const notes = [...dearNote, QUOTAS_HINT]
    .flatMap((note) => wrapWords(note, options.columns));
  return [
    limits,
    drawUsed(report, options),
    ...(history?.holders ?? [])
      .flatMap((holder) => drawDays(holder, options)),
    ...notes,
    "",
  ].join("\n");
}

const QUOTAS_HINT =
  "model-gateway limits shows what the connections have left.";

/** Draws the usage in the current windows: a line for each window or, when the columns do not fit, several lines. */
function drawUsed(
  { token, since, windows }: Report,
  page: Page & { readonly nowMs: number },
): string {
  const { columns, paint, nowMs } = page;
  const from = localTime(Date.parse(since)) ?? plainText(since);
  const head = `${paint("bold", `Used by ${plainText(token)}`)}  ${
    paint("dim", `counted since ${from}`)
  }`;
  const table = drawTable(windows, {
    ...page,
    indent: "  ",
    names: [wordColumn("window", ({ window }) => `1 ${plainText(window)}`)],
    facts: [
      ...amountColumns(({ total }: ReportedWindow) => total),
      wordColumn("reset", (one) => resetText(one, nowMs)),
    ],
  });
  return [...wrapWords(head, columns), ...table, ""].join("\n");
}

/** The width of a bar, in characters. It leaves room for the numbers in 80 columns. */
const BAR_WIDTH = 20;

/** Draws the days with requests. The bar of a day shows its cost or, when no model has a price, its tokens. */
function drawDays(
  holder: HolderHistory,
  page: Page & { readonly nowMs: number },
): readonly string[] {
  const { columns, paint, nowMs } = page;
  const days = holder.days.filter(({ requests }) => requests > 0);
  if (days.length === 0) return [];
  const unit = unitOf([holder]);
  const most = Math.max(...days.map((day) => amountOf(day, unit)));
  const table = drawTable(days, {
    ...page,
    indent: "  ",
    names: [wordColumn("day", ({ date }) => plainText(date))],
    facts: [
      barColumn((day) => amountOf(day, unit), {
        most,
        width: BAR_WIDTH,
        paint,
      }),
      ...amountColumns((day: Day) => day),
    ],
  });
  return [
    paint("bold", `${plainText(holder.name)}, day by day in UTC`),
    ...table,
    ...wrapWords(historyText(holder, unit, nowMs), columns),
    "",
  ];
}
