import type { Caller } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import { amountOf, type Bounds, countsRow, isBound } from "./bounds.ts";
import { createCountNames, type HolderNames } from "./count_names.ts";
import { type Counts, type Measure, tokensOf } from "./counts.ts";
import { createRelayed } from "./relayed.ts";
import type { Addition, Sums } from "./sums.ts";

/** What one request used. */
export interface Use {
  /** As the configuration in use has it. */
  readonly caller: Caller;
  /** The name of the connection that had it last. */
  readonly connection: string;
  /** The model that it was served by, as callers know it. */
  readonly model: string;
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number;
  readonly counts: Counts;
}

/** Counts what every token uses. */
export interface Counting {
  /**
   * Counts a request in all windows that it ended in, and in the limits of its token. Windows that are over are left
   * alone, so that old requests may be counted too.
   *
   * @param givenBack What was reserved for the request, which goes at the same time.
   */
  count(use: Use, givenBack?: readonly Addition[]): void;
  /** From when on everything is counted, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Told by whoever counted what was used before; a later moment than the one known changes nothing. */
  completeSince(sinceMs: number): void;
}

/** What {@linkcode createCounting} needs. */
export interface CountingOptions {
  readonly sums: Pick<Sums, "add">;
  readonly bounds: Bounds;
  readonly clock: Pick<Clock, "now">;
}

/** Counts from now on. */
export function createCounting(
  { sums, bounds, clock }: CountingOptions,
): Counting {
  let sinceMs = clock.now();
  const names = createCountNames();
  const relayed = createRelayed();
  return {
    count(use, givenBack = []) {
      const { caller, connection, atMs, counts } = use;
      const additions = [...givenBack];
      const holders = names.holders(caller, atMs);
      addCounts(additions, holders, amountsIn(counts, names.fields(use)));
      const tokens = tokensOf(counts);
      relayed.add({ connection, holders, tokens, atMs }, additions);
      if (isBound(caller)) addToLimits(use, { additions, bounds });
      sums.add(additions);
    },
    get sinceMs() {
      return sinceMs;
    },
    completeSince(atMs) {
      sinceMs = Math.min(sinceMs, atMs);
    },
  };
}

/** One table after another, so that each is looked up once. */
function addCounts(
  additions: Addition[],
  holders: readonly HolderNames[],
  amounts: readonly FieldAmount[],
): void {
  for (const { tables } of holders) {
    for (const { table, endsAtMs } of tables) {
      for (const { field, amount } of amounts) {
        additions.push({ sum: { table, field, endsAtMs }, amount });
      }
    }
  }
}

/** What to add to one field of each table. */
interface FieldAmount {
  readonly field: string;
  readonly amount: number;
}

/** Measure by measure, since to look each up by its word would take as long as all else here. */
function amountsIn(
  counts: Counts,
  fields: Readonly<Record<Measure, string>>,
): readonly FieldAmount[] {
  const amounts: FieldAmount[] = [];
  const put = (field: string, amount = 0) => {
    if (amount !== 0) amounts.push({ field, amount });
  };
  put(fields.requests, counts.requests);
  put(fields.input, counts.input);
  put(fields.cached_input, counts.cached_input);
  put(fields.cache_write, counts.cache_write);
  put(fields.output, counts.output);
  put(fields.reasoning, counts.reasoning);
  put(fields.estimated, counts.estimated);
  const { cost } = counts;
  // A cost of nothing is known, and no cost is not.
  if (cost !== undefined) amounts.push({ field: fields.cost, amount: cost });
  return amounts;
}

function addToLimits(
  use: Use,
  { additions, bounds }: {
    readonly additions: Addition[];
    readonly bounds: Bounds;
  },
): void {
  for (const bound of bounds.of(use.caller)) {
    if (bound.kind === "share" || !countsRow(bound.limit, use)) continue;
    const { sum } = bounds.sumAt(bound, use.atMs);
    const amount = amountOf(bound.limit.unit, use.counts);
    if (amount !== 0) additions.push({ sum, amount });
  }
}
