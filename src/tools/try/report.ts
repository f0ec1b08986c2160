import type { Config } from "@gateway/gateway/config";
import { configLine, strictest } from "@gateway/codecs";
import { alignColumns } from "../table.ts";
import { lessonsOf, sentOf, type TrialResult } from "./try_models.ts";

/** A line to add to a model's entry in the file, or to the connection's. */
interface ConfigLine {
  readonly connection: string;
  /** The model whose entry gets the line; absent when the connection's entry gets it. */
  readonly model?: string;
  readonly line: string;
}

/** What {@linkcode tryReport} and {@linkcode tryJson} report. */
interface TriedModels {
  readonly results: readonly TrialResult[];
  readonly config: Pick<Config, "connections">;
}

/** Returns a table of the trials, their sums, and the lines to put into the file. */
export function tryReport(tried: TriedModels): string {
  const rows = paths(tried.results).flatMap(rowsOf);
  const table = alignColumns(rows, { columns: Infinity, isLeft: () => true });
  const { requests, tokens, costUsd } = sumsOf(tried.results);
  const lines = configLines(tried);
  return [
    ...table ?? [],
    "",
    `Sent ${requests} requests with ${tokens} tokens, for about $${
      costUsd.toFixed(4)
    } where the file has prices.`,
    ...(lines.length === 0 ? [] : [
      "To avoid the refusals that taught the gateway something, put this into the file:",
      ...new Set(
        lines.map(({ connection, model, line }) =>
          model === undefined
            ? `  ${connection}, ${line}`
            : `  ${connection}, models: { id: ${model}, ${line} }`
        ),
      ),
    ]),
    "",
  ].join("\n");
}

/** Returns the report of {@linkcode tryReport} as one line of JSON. */
export function tryJson(tried: TriedModels): string {
  const { requests, tokens, costUsd } = sumsOf(tried.results);
  const results = tried.results.map((
    { costUsd: cost_usd, requests: _, ...result },
  ) => ({
    ...result,
    cost_usd,
  }));
  return JSON.stringify({
    ...{ requests, tokens, cost_usd: costUsd },
    config: configLines(tried),
    results,
  }) + "\n";
}

/** Groups results by connection, model, protocol and mode. The results stay in order. */
function paths(
  results: readonly TrialResult[],
): readonly (readonly TrialResult[])[] {
  const groups = Map.groupBy(
    results,
    ({ connection, model, protocol, mode }) =>
      JSON.stringify([connection, model, protocol, mode]),
  );
  return [...groups.values()];
}

const RESULT_NAMES = {
  works: "works",
  without: "works without",
  refused: "refused",
  untried: "not tried",
} as const satisfies Record<TrialResult["result"], string>;

/** Returns a row for each pair of result and reason. The row names all trials with this result and reason. */
function rowsOf(results: readonly TrialResult[]): readonly string[][] {
  const groups = Map.groupBy(
    results,
    (one) => JSON.stringify([one.result, reasonOf(one)]),
  );
  return [...groups.values()].flatMap((group, index) => {
    const [first] = group;
    if (first === undefined) return [];
    const { connection, model, protocol, mode, result } = first;
    const trials = group.map(({ trial }) => trial).join(", ");
    const reason = reasonOf(first);
    return [[
      ...(index === 0
        ? [connection, model, `${protocol}, ${mode}`]
        : ["", "", ""]),
      RESULT_NAMES[result],
      reason === "" ? trials : `${trials}: ${reason}`,
    ]];
  });
}

function reasonOf({ reason, dropped, lessons }: TrialResult): string {
  if (reason !== "") return reason;
  return [
    ...(dropped.length === 0 ? [] : [`dropped ${dropped.join(", ")}`]),
    ...(lessons.length === 0 ? [] : [`learned to ${lessons.join("; ")}`]),
  ].join(", ");
}

function sumsOf(results: readonly TrialResult[]) {
  return {
    requests: sentOf(results),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: results.reduce((sum, { costUsd }) => sum + costUsd, 0),
  };
}

/**
 * Returns the lines that make the learned lessons permanent. Each line also repeats the lessons that the file already
 * has, so that it can replace their line.
 */
function configLines(
  { results, config }: TriedModels,
): readonly ConfigLine[] {
  return config.connections.flatMap(({ name: connection, models }) =>
    models.flatMap(({ id: model, omit, lessons }) => {
      const learned = results
        .filter((one) => one.connection === connection && one.model === model)
        .map(lessonsOf).reduce(strictest, []);
      if (learned.length === 0) return [];
      const all = strictest(lessonsOf({ lessons }), learned);
      const others = all.filter(({ move }) => move !== "stream");
      return [
        ...(others.length === all.length
          ? []
          : [{ connection, line: "stream_only: true" }]),
        ...(others.length === 0
          ? []
          : [{ connection, model, line: configLine(others, omit) }]),
      ];
    })
  );
}
