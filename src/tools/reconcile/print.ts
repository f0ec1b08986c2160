import { oneLine } from "@gateway/base/json";
import { dollarsText, drawTable, wordColumn } from "../table.ts";
import { type Page, plainText } from "@gateway/base/text";
import { csvLine, roundCost } from "../usage/export.ts";
import { CAUSES, type Difference } from "./compare.ts";

/** A bill beside a log. Percentages are of the bill. */
interface Comparison {
  readonly differences: readonly Difference[];
  readonly providerUsd: number;
  readonly logUsd: number;
  /** The sum of the absolute differences of the models. The difference of a model is taken over all days together. */
  readonly differencePercent: number;
  /** The sum of the absolute amounts that no cause explains. The amount of a model is taken over all days together. */
  readonly unexplainedPercent: number;
}

/** Sums up the differences of models and days. */
export function compared(differences: readonly Difference[]): Comparison {
  const providerUsd = sum(differences, ({ providerUsd }) => providerUsd);
  const logUsd = sum(differences, ({ logUsd }) => logUsd);
  const models = [...Map.groupBy(differences, ({ model }) => model).values()];
  const percentOf = (usdOf: (one: Difference) => number) => {
    const usd = sum(models, (days) => Math.abs(sum(days, usdOf)));
    return usd === 0 ? 0 : 100 * usd / (providerUsd || logUsd);
  };
  return {
    ...{ differences, providerUsd, logUsd },
    differencePercent: percentOf(differenceOf),
    unexplainedPercent: percentOf(unexplainedOf),
  };
}

function sum<One>(list: readonly One[], usdOf: (one: One) => number): number {
  return list.reduce((total, one) => total + usdOf(one), 0);
}

function differenceOf({ providerUsd, logUsd }: Difference): number {
  return providerUsd - logUsd;
}

function unexplainedOf(difference: Difference): number {
  return differenceOf(difference) - sum(difference.causes, ({ usd }) => usd);
}

/** Writes a comparison as one line of JSON. */
export function comparisonJson(
  { differences, ...totals }: Comparison,
  head: Readonly<Record<string, unknown>>,
): string {
  const data = differences.map((one) => ({
    ...{ day: one.day, model: one.model },
    provider_usd: roundCost(one.providerUsd),
    log_usd: roundCost(one.logUsd),
    unexplained_usd: roundCost(unexplainedOf(one)),
    causes: one.causes.map((cause) => ({
      ...cause,
      usd: roundCost(cause.usd),
    })),
  }));
  const line = oneLine({
    object: "reconciliation",
    ...head,
    provider_usd: roundCost(totals.providerUsd),
    log_usd: roundCost(totals.logUsd),
    difference_percent: roundCost(totals.differencePercent),
    unexplained_percent: roundCost(totals.unexplainedPercent),
    data,
  });
  return `${line}\n`;
}

/** Writes a comparison as CSV: a row for each model and day, with the dollars of each cause. */
export function comparisonCsv(
  { differences }: Comparison,
  connection: string,
): string {
  const names = Object.keys(CAUSES);
  const head = ["connection", "day", "model", "provider_usd", "log_usd"];
  const rows = differences.map((one) => {
    const { day, model, providerUsd, logUsd, causes } = one;
    const ofCause = names.map((name) =>
      sum(causes.filter(({ cause }) => cause === name), ({ usd }) => usd)
    );
    const amounts = [providerUsd, logUsd, ...ofCause, unexplainedOf(one)];
    return [connection, day, model, ...amounts.map(roundCost)];
  });
  return [[...head, ...names, "unexplained"], ...rows].map(csvLine).join("");
}

/** Draws a comparison for people: first the models, then the causes. In each part, the largest amounts come first. */
export function drawComparison(comparison: Comparison, page: Page): string {
  const { differences, differencePercent, unexplainedPercent } = comparison;
  const models = summedBy(differences, ({ model }) => model, differenceOf);
  const total = {
    ...{ first: undefined, list: differences },
    usd: sum(differences, differenceOf),
  };
  const parts = differences.flatMap(({ model, day, causes }) =>
    causes.map((cause) => ({ ...cause, model, day }))
  );
  const causes = summedBy(
    parts,
    ({ cause, detail, model }) => [cause, detail, model].join(),
    ({ usd }) => usd,
  ).filter(({ usd }) => Math.abs(usd) >= 0.005);
  const difference = {
    heading: "difference",
    text: ({ usd }: { readonly usd: number }) =>
      Math.abs(usd) < 0.005
        ? dollarsText(0)
        : (usd > 0 ? "+" : "") + dollarsText(usd),
  };
  return [
    ...drawTable([...models, total], {
      ...page,
      names: [
        wordColumn("model", ({ first }) => first ? modelText(first) : "all"),
      ],
      facts: [
        {
          heading: "bill",
          text: ({ list }) => dollarsText(sum(list, (one) => one.providerUsd)),
        },
        {
          heading: "log",
          text: ({ list }) => dollarsText(sum(list, ({ logUsd }) => logUsd)),
        },
        difference,
      ],
      isTotal: (one) => one === total,
    }),
    "",
    ...causes.length === 0 ? [] : [
      ...drawTable(causes, {
        ...page,
        names: [
          wordColumn("cause", ({ first }) => CAUSES[first.cause]),
          wordColumn("model", ({ first }) => modelText(first)),
          wordColumn("what is missing", ({ first }) => first.detail),
          wordColumn("days", ({ list }) => {
            const days = list.map(({ day }) => day).sort();
            return [...new Set([days[0], days.at(-1)])].join(" to ");
          }),
        ],
        facts: [difference],
      }),
      "",
    ],
    `Difference ${differencePercent.toFixed(2)} %, without a cause ${
      unexplainedPercent.toFixed(2)
    } %.`,
  ].map((line) => `${line}\n`).join("");
}

function summedBy<One>(
  list: readonly One[],
  keyOf: (one: One) => string,
  usdOf: (one: One) => number,
) {
  return [...Map.groupBy(list, keyOf).values()].flatMap((list) => {
    const [first] = list;
    return first === undefined ? [] : [{ first, list, usd: sum(list, usdOf) }];
  }).sort((one, other) => Math.abs(other.usd) - Math.abs(one.usd));
}

function modelText({ model }: Pick<Difference, "model">): string {
  return plainText(model) || "(tools)";
}
