import type { Caller } from "../config/config.ts";
import {
  type AmountLimit,
  limitsOn,
  type LimitUnit,
  type LimitWindow,
} from "../config/usage_limits.ts";
import { CALENDAR_WINDOWS } from "@gateway/base/time/calendar";
import { type Counts, type Measure, tokensOf } from "./counts.ts";
import { dayAmounts, daysTable } from "./history.ts";
import { createRelayed } from "./relayed.ts";
import type { Addition, FieldAmount, Hold, Sums } from "./sums.ts";
import {
  type CountedMiss,
  countsField,
  countsTable,
  holderDigest,
  missField,
  placedAt,
  type PlacedWindow,
  type Row,
  sessionHolder,
  sessionTable,
} from "./tables.ts";

/** The facts about a caller that decide where the caller's usage is counted. */
export type CountedCaller =
  & Pick<Caller, "name" | "groups" | "isUnlisted">
  & Partial<Pick<Caller, "limits">>;

/** The usage of one request. */
interface Use {
  /** The caller in the current configuration. */
  readonly caller: CountedCaller;
  /** The name of the last connection. */
  readonly connection: string;
  /** The id of the model that served the request. */
  readonly model: string;
  /** The end of the request, in milliseconds since 1970. */
  readonly atMs: number;
  readonly counts: Counts;
  /** The client's id of the request's session. */
  readonly session?: string | undefined;
  /**
   * The start of the request, in milliseconds since 1970. A session's life may begin then. `undefined` when the request
   * counts in no life.
   */
  readonly startedMs?: number | undefined;
  /** The dear turns among the counted requests (docs/usage.md#dear-turns). */
  readonly misses?: readonly CountedMiss[] | undefined;
}

/** Counts the usage of every token. */
export interface Counting {
  /**
   * Counts a request in all windows that contain the request's end. Skips windows that are over, so that old requests
   * can be counted, too.
   *
   * @param holds The holds of the request on limits. The change that counts the request also releases these holds.
   */
  count(use: Use, holds?: readonly Hold[]): void;
  /** Counts requests only in the life of their session. */
  countLife(use: Use): void;
}

/** Creates an object that counts usage in `sums`. */
export function createCounting(sums: Pick<Sums, "apply">): Counting {
  const names = createNames();
  const addRelayed = createRelayed();
  return {
    count(use, holds) {
      const { caller, connection, atMs, counts, misses = [] } = use;
      const additions: Addition[] = [];
      const holders = names.holders(caller, atMs);
      const amounts = [
        ...amountsIn(counts, names.fields(use)),
        ...misses.flatMap(missAmounts),
      ];
      const days = dayAmounts(counts, atMs);
      for (const { tables, daysTable, isUnlisted } of holders) {
        for (const { table, endsAtMs } of tables) {
          additions.push({ table, endsAtMs, isUnlisted, amounts });
        }
        additions.push({ ...daysTable, isUnlisted, amounts: days });
      }
      const windows = sessionWindows(use)
        .filter((one) => one !== "session" || use.startedMs !== undefined);
      additions.push(...sessionAdditions(use, windows, amounts));
      const tokens = tokensOf(counts);
      addRelayed({ connection, holders, tokens, atMs }, additions);
      sums.apply(
        holds === undefined ? { additions } : { additions, releases: holds },
      );
    },
    countLife(use) {
      const amounts = amountsIn(use.counts, names.fields(use));
      sums.apply({ additions: sessionAdditions(use, ["session"], amounts) });
    },
  };
}

/** Returns the windows of the caller's limits per session. A request without a session has no such windows. */
function sessionWindows({ caller, session }: Use): readonly LimitWindow[] {
  if (session === undefined) return [];
  return [...new Set(perSession(caller).map(({ window }) => window))];
}

/** Returns the amounts that a request adds to the usage of its session, one addition per window. */
function sessionAdditions(
  { caller, session = "", atMs, startedMs = atMs }: Use,
  windows: readonly LimitWindow[],
  amounts: readonly FieldAmount[],
): readonly Addition[] {
  if (windows.length === 0) return [];
  const isWhole = perSession(caller).every(({ models, connections }) =>
    models === undefined && connections === undefined
  );
  const holder = sessionHolder(caller.name, session);
  return windows.map((window) => {
    const placed = placedAt(window, window === "session" ? startedMs : atMs);
    return {
      ...sessionTable(placed, holder),
      isUnlisted: caller.isUnlisted,
      // If no limit needs the rows of models, only the totals are kept. They take a fifth of the memory.
      amounts: isWhole
        ? amounts.filter(({ field }) => !field.includes("\t"))
        : amounts,
    };
  });
}

/** Returns the limits per session of a caller and of its groups. */
export function perSession(
  { limits = [], groups }: CountedCaller,
): readonly AmountLimit[] {
  return limitsOn({ limits, groups }).flatMap((limit) =>
    limit.kind === "amount" && limit.per === "session" ? [limit] : []
  );
}

/**
 * Returns the amounts that are not 0. The code names each measure, because a loop of look-ups would take twice as long.
 */
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
  put(fields.unpriced, counts.unpriced);
  const { cost } = counts;
  // A cost of 0 is known, an absent cost is unknown.
  if (cost !== undefined) amounts.push({ field: fields.cost, amount: cost });
  put("requests" satisfies LimitUnit, counts.requests);
  put("tokens" satisfies LimitUnit, tokensOf(counts));
  put("cost" satisfies LimitUnit, cost);
  return amounts;
}

function missAmounts(
  { cause, requests, nanos }: CountedMiss,
): readonly FieldAmount[] {
  const turns = { field: missField("requests", cause), amount: requests };
  return nanos === undefined
    ? [turns]
    : [turns, { field: missField("cost", cause), amount: nanos }];
}

/** The names of the sums of one holder. */
interface HolderNames {
  readonly digest: string;
  readonly isUnlisted: boolean;
  /** The tables of the holder's counts, one per window, with the end of the window. */
  readonly tables: readonly CountsTable[];
  readonly daysTable: CountsTable;
}

type CountsTable = Pick<Addition, "table" | "endsAtMs">;

/**
 * Caches names, because making names costs more than counting. Names of fields are kept for the life of the program,
 * and names of tables for the shortest window.
 */
function createNames() {
  /**
   * The names of fields by connection, then by model. Connections and models come from configurations, so there are
   * few.
   */
  const fields = new Map<
    string,
    Map<string, Readonly<Record<Measure, string>>>
  >();
  const known = {
    token: new Map<string, HolderNames>(),
    group: new Map<string, HolderNames>(),
  };
  let windows: readonly PlacedWindow[] = [];

  function moveTo(atMs: number): void {
    const [shortest] = windows;
    const isSame = shortest !== undefined && atMs >= shortest.startMs &&
      atMs < shortest.endMs;
    if (isSame) return;
    windows = CALENDAR_WINDOWS.map((window) => placedAt(window, atMs));
    known.token.clear();
    known.group.clear();
  }

  function namesOf(
    kind: "token" | "group",
    name: string,
    isUnlisted = false,
  ): HolderNames {
    const found = known[kind].get(name);
    if (found !== undefined) return found;
    const holder = { kind, name };
    const tables = windows.map((window) => ({
      table: countsTable(window, holder),
      endsAtMs: window.endMs,
    }));
    const made = {
      digest: holderDigest(holder),
      isUnlisted,
      tables,
      daysTable: daysTable(holder, windows[0]?.startMs ?? 0),
    };
    known[kind].set(name, made);
    return made;
  }

  return {
    /** Returns the names of a row's fields. The names are the same in each table. */
    fields(row: Row): Readonly<Record<Measure, string>> {
      const byModel = fields.get(row.connection) ?? new Map();
      const found = byModel.get(row.model);
      if (found !== undefined) return found;
      const made = fieldsOf(row);
      fields.set(row.connection, byModel.set(row.model, made));
      return made;
    },
    /** Returns the names for a token and for each of the token's groups, with the tables that count at `atMs`. */
    holders(
      { name, groups, isUnlisted }: CountedCaller,
      atMs: number,
    ): readonly HolderNames[] {
      moveTo(atMs);
      return [
        namesOf("token", name, isUnlisted),
        ...groups.map((group) => namesOf("group", group.name)),
      ];
    },
  };
}

function fieldsOf(row: Row): Readonly<Record<Measure, string>> {
  const field = (measure: Measure) => countsField(measure, row);
  return {
    requests: field("requests"),
    input: field("input"),
    cached_input: field("cached_input"),
    cache_write: field("cache_write"),
    output: field("output"),
    reasoning: field("reasoning"),
    cost: field("cost"),
    estimated: field("estimated"),
    unpriced: field("unpriced"),
  };
}
