import { z } from "zod";
import { ownLimits } from "../../http/wording/own_limits.js";
import { localTime, resetText } from "../../http/wording/times.js";
import { type CliIo, EXIT } from "../command.ts";
import {
  type GatewayAddress,
  GatewayUnread,
  readGateway,
  type RequestTools,
} from "../gateway_client.ts";
import { drawOwnLimits } from "../limits/draw.ts";
import {
  hasColours,
  inColour,
  type Paint,
  plainText,
  withoutColour,
  wrapWords,
} from "../text.ts";
import { countText, dollarsText } from "./table.ts";

/** The dependencies of {@linkcode printOwnUsage}. */
export interface OwnUsageTools extends CliIo, RequestTools {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns the width of the terminal in characters; undefined when the output is not a terminal. */
  readonly columns: () => number | undefined;
}

/** The gateway waits a second for quotas. The rest is for a slow network. */
const DEADLINE_MS = 15_000;

/** The width of lines in a file. */
const COLUMNS_OF_A_FILE = 120;

/**
 * Reads the usage of a token from a running gateway. Draws its limits with what is used, what is left and the reset,
 * then its usage in the current windows. With `json`, it prints the response as one line.
 *
 * @returns The exit code.
 */
export async function printOwnUsage(
  { base, token, json }: GatewayAddress & { readonly json: boolean },
  tools: OwnUsageTools,
): Promise<number> {
  try {
    const report = await readGateway(
      { url: `${base}/v1/usage`, token, deadlineMs: DEADLINE_MS },
      tools,
      isReport,
    );
    tools.write(
      json ? `${JSON.stringify(report)}\n` : drawReport(report, tools),
    );
    return EXIT.good;
  } catch (error) {
    if (!(error instanceof GatewayUnread)) throw error;
    tools.writeError(`${error.message}\n`);
    return EXIT.failed;
  }
}

/** The parts of the report that are drawn. The gateway may be newer than this program. */
const reportSchema = z.object({
  object: z.literal("usage"),
  token: z.string(),
  since: z.string(),
  windows: z.array(z.object({
    window: z.string(),
    resets_at: z.string(),
    total: z.object({
      requests: z.number(),
      input_tokens: z.number(),
      cached_input_tokens: z.number(),
      output_tokens: z.number(),
      cost_usd: z.number().nullable(),
    }),
  })),
  limits: z.array(z.unknown()),
});

type Report = z.infer<typeof reportSchema>;

function isReport(body: unknown): body is Report {
  return reportSchema.safeParse(body).success;
}

function drawReport(report: Report, tools: OwnUsageTools): string {
  const { columns, env, now } = tools;
  const width = columns();
  const options = {
    columns: width ?? COLUMNS_OF_A_FILE,
    paint: hasColours(width !== undefined, env) ? inColour : withoutColour,
    nowMs: now(),
  };
  const own = ownLimits(report) ?? [];
  const limits = own.length === 0
    ? "No limit of the gateway applies to this token.\n"
    : drawOwnLimits(own, options);
  const sections = [limits, drawUsed(report, options), `${QUOTAS_HINT}\n`];
  return sections.join("\n");
}

const QUOTAS_HINT =
  "model-gateway limits shows what the connections have left.";

/** Draws the usage in the current windows. */
function drawUsed(
  { token, since, windows }: Report,
  { columns, paint, nowMs }: {
    readonly columns: number;
    readonly paint: Paint;
    readonly nowMs: number;
  },
): string {
  const from = localTime(Date.parse(since)) ?? plainText(since);
  const head = `${paint("bold", `Used by ${plainText(token)}`)}  ${
    paint("dim", `counted since ${from}`)
  }`;
  const rows = windows.map(({ window, resets_at, total }) => [
    `1 ${plainText(window)}`,
    countText(total.requests),
    countText(total.input_tokens),
    countText(total.cached_input_tokens),
    countText(total.output_tokens),
    total.cost_usd === null ? "–" : dollarsText(total.cost_usd),
    resetText({ resets_at, window }, nowMs),
  ]);
  const table = [HEADINGS, ...rows];
  const widths = HEADINGS.map((_, index) =>
    Math.max(...table.map((row) => row[index]?.length ?? 0))
  );
  const lines = table.map((row, number) => {
    const cells = row.map((cell, index) =>
      LEFT_ALIGNED.includes(HEADINGS[index] ?? "")
        ? cell.padEnd(widths[index] ?? 0)
        : cell.padStart(widths[index] ?? 0)
    );
    const line = `  ${cells.join("  ").trimEnd()}`;
    return number === 0 ? paint("dim", line) : line;
  });
  return [head, ...lines, ""].flatMap((line) => wrapWords(line, columns))
    .join("\n");
}

const HEADINGS = [
  "window",
  "requests",
  "input",
  "cached",
  "output",
  "cost",
  "reset",
];

const LEFT_ALIGNED = ["window", "reset"];
