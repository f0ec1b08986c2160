import { oneLine } from "../../observe/log.ts";
import type { LogLineCounts } from "../../observe/read_log.ts";
import { sumFields } from "./fields.ts";
import { type Row, type Totals, valuesOf } from "./totals.ts";

/** Totals as one line of JSON, piece by piece: there may be many rows. */
export function* jsonPieces(
  totals: Totals,
  lines: LogLineCounts,
): Generator<string> {
  const { by, from = null, to = null, total, rest } = totals;
  const head = oneLine({
    object: "usage_totals",
    by,
    from,
    to,
    lines,
    total: sumFields(total),
    rest: rest.requests === 0 ? null : sumFields(rest),
  });
  yield `${head.slice(0, -1)},"data":[`;
  let separator = "";
  for (const row of totals.rows) {
    yield separator + oneLine(rowFields(row, totals));
    separator = ",";
  }
  yield "]}\n";
}

function rowFields(row: Row, { by }: Totals): unknown {
  const values = valuesOf(row, by);
  const names = by.map((grouping, index) => [grouping, values[index] ?? null]);
  return { ...Object.fromEntries(names), ...sumFields(row) };
}
