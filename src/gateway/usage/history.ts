import { calendarSpan } from "@gateway/base/time/calendar";
import type { Counts, Measure } from "./counts.ts";
import type { FieldAmount, Sums } from "./sums.ts";
import { type Holder, holderText } from "./tables.ts";
import { type UsedAmounts, usedAmounts } from "./window_usage.ts";

/*
 * The usage of each day, for five weeks. A table holds one week of one token or group. A table ends as a whole, so the
 * table of a month would be kept twice as long as needed.
 */

/** The number of days in a history, today included. */
export const HISTORY_DAYS = 35;

const DAY_MS = 86_400_000;
const DAYS_IN_WEEK = 7;

/**
 * The measures of a day. Add new measures at the end, because the name of a measure's field contains the measure's
 * position.
 */
const DAY_MEASURES = [
  "requests",
  "input",
  "cached_input",
  "cache_write",
  "output",
  "cost",
  "unpriced",
] as const satisfies readonly Measure[];

/** The prefix of the name of every {@linkcode DaysTable}; no other table has it. */
const PREFIX = "days\t";

/**
 * The fields of a table. A name is two characters, for the day of the week and the measure, because there are very many
 * fields.
 */
const FIELDS: readonly string[] = Array.from(
  { length: DAYS_IN_WEEK },
  (_, day) => DAY_MEASURES.map((_, measure) => `${day}${measure}`),
).flat();

const INDEX_BY_FIELD: ReadonlyMap<string, number> = new Map(
  FIELDS.map((field, index) => [field, index]),
);

/** The table of a week's days. */
interface DaysTable {
  readonly table: string;
  readonly endsAtMs: number;
}

/** Returns the table of a holder for the week that contains a moment, in milliseconds since 1970. */
export function daysTable(holder: Holder, atMs: number): DaysTable {
  const { startMs, endMs } = calendarSpan("week", atMs);
  return {
    table: `${PREFIX}${startMs / 1000}\t${holderText(holder)}`,
    endsAtMs: endMs + (HISTORY_DAYS - 1) * DAY_MS,
  };
}

/** Returns true for the name of a {@linkcode DaysTable}. */
export function isDaysTable(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Returns the amounts that a request at `atMs` adds to its {@linkcode DaysTable}. */
export function dayAmounts(
  counts: Counts,
  atMs: number,
): readonly FieldAmount[] {
  const first = dayOfWeek(atMs) * DAY_MEASURES.length;
  const amounts: FieldAmount[] = [];
  for (const [index, measure] of DAY_MEASURES.entries()) {
    const amount = counts[measure];
    const field = FIELDS[first + index];
    // A cost of 0 is known, an absent cost is unknown.
    const isCounted = amount !== undefined &&
      (amount !== 0 || measure === "cost");
    if (isCounted && field !== undefined) amounts.push({ field, amount });
  }
  return amounts;
}

/** Returns the day of the week. Monday is 0. */
function dayOfWeek(atMs: number): number {
  return Math.floor((atMs - calendarSpan("week", atMs).startMs) / DAY_MS);
}

/** The usage of a day, in UTC, with the same fields as a window in `GET /usage`. */
export interface DayUsage
  extends Omit<UsedAmounts, "reasoning_tokens" | "estimated_requests"> {
  /** ISO 8601, such as `2026-11-26`. */
  readonly date: string;
}

/** Returns a holder's usage of the last {@linkcode HISTORY_DAYS} days, the oldest first. */
export async function readHistory(
  holder: Holder,
  { sums, nowMs }: {
    readonly sums: Pick<Sums, "table">;
    readonly nowMs: number;
  },
): Promise<readonly DayUsage[]> {
  const todayMs = calendarSpan("day", nowMs).startMs;
  const days = Array.from(
    { length: HISTORY_DAYS },
    (_, index) => todayMs - (HISTORY_DAYS - 1 - index) * DAY_MS,
  );
  const names = new Set(days.map((atMs) => daysTable(holder, atMs).table));
  const tables = new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await sums.table(name)] as const),
    ),
  );
  return days.map((atMs) =>
    dayUsage(atMs, tables.get(daysTable(holder, atMs).table))
  );
}

function dayUsage(
  atMs: number,
  table: ReadonlyMap<string, number> | undefined,
): DayUsage {
  const first = dayOfWeek(atMs) * DAY_MEASURES.length;
  const date = new Date(atMs).toISOString().slice(0, "2026-11-26".length);
  const { reasoning_tokens: _, estimated_requests: __, ...amounts } =
    usedAmounts(
      Object.fromEntries(
        DAY_MEASURES.map((measure, index) => [
          measure,
          table?.get(FIELDS[first + index] ?? ""),
        ]),
      ),
    );
  return { date, ...amounts };
}

/**
 * The values of a {@linkcode DaysTable} in memory. A value takes 8 bytes; in a `Map` it would take 40. Fields that no
 * such table has are ignored.
 */
export class DayAmounts implements Iterable<readonly [string, number]> {
  readonly #amounts: (number | undefined)[] = [];

  get(field: string): number | undefined {
    return this.#amounts[INDEX_BY_FIELD.get(field) ?? -1];
  }

  set(field: string, amount: number): this {
    const index = INDEX_BY_FIELD.get(field);
    if (index !== undefined) this.#amounts[index] = amount;
    return this;
  }

  /** The number of values. */
  get size(): number {
    return [...this].length;
  }

  *[Symbol.iterator](): Iterator<readonly [string, number]> {
    for (const [index, field] of FIELDS.entries()) {
      const amount = this.#amounts[index];
      if (amount !== undefined) yield [field, amount];
    }
  }
}
