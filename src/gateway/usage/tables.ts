import { sha256Hex } from "@gateway/base/sha256";
import type { LimitWindow } from "../config/usage_limits.ts";
import { calendarSpan, type TimeSpan } from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import { type Measure, MEASURES } from "./counts.ts";
import type { Sum } from "./sums.ts";

/*
 * The names of tables of sums and of their fields. Tabs separate the parts of a name, because no name in the
 * configuration contains a tab.
 */

/** The token, group or session that sums belong to. */
export interface Holder {
  readonly kind: "token" | "group" | "session";
  readonly name: string;
}

/** The largest number of sessions of one caller that are counted separately. No client can thus fill a store. */
const SESSION_SLOTS = 65_536;

/**
 * Returns the holder of a session's usage. A number replaces the session's id, because the client chooses the id.
 * Sessions of a token with the same number share one amount of a limit.
 *
 * @param token The name of the caller.
 */
export function sessionHolder(token: string, session: string): Holder {
  const slot = parseInt(sha256Hex(session).slice(0, 8), 16) % SESSION_SLOTS;
  return { kind: "session", name: `${token}\t${slot}` };
}

/** The longest life of a session, in milliseconds. */
export const LIFE_MS = 86_400_000;

/** Returns the span of a limit's window that ends at a moment, in milliseconds since 1970. */
export function spanUntil(window: LimitWindow, endMs: number): TimeSpan {
  return window === "session"
    ? { startMs: endMs - LIFE_MS, endMs }
    : calendarSpan(window, endMs - 1);
}

/** The windows that `GET /usage` reports. Usage is counted in these windows, and per minute for limits. */
export const REPORTED_WINDOWS = ["hour", "day", "week", "month"] as const;

/** One of {@linkcode REPORTED_WINDOWS}. */
export type ReportedWindow = typeof REPORTED_WINDOWS[number];

/** A window with its start and end. */
export interface PlacedWindow<Window extends LimitWindow = LimitWindow>
  extends TimeSpan {
  readonly window: Window;
}

/** Returns the window that contains a moment. For the window `session`, returns the life that begins at the moment. */
export function placedAt<Window extends LimitWindow>(
  window: Window,
  atMs: number,
): PlacedWindow<Window> {
  const span = window === "session"
    ? { startMs: atMs, endMs: atMs + LIFE_MS }
    : calendarSpan(window, atMs);
  return { window, ...span };
}

/** Returns the table of a session's usage in a window. */
export function sessionTable(
  placed: PlacedWindow,
  holder: Holder,
): Omit<Sum, "field"> {
  const token = holder.name.slice(0, holder.name.lastIndexOf("\t"));
  return {
    table: countsTable(placed, holder),
    endsAtMs: placed.endMs,
    isLife: placed.window === "session",
    crowd: countsTable(placed, { ...holder, name: token }),
  };
}

/**
 * Returns the name of the table of a holder's usage in a window. The table has a field for each measure, connection and
 * model ({@linkcode countsField}). For each unit of limits, a field with the unit's name holds the total.
 */
export function countsTable(
  { window, startMs }: PlacedWindow,
  holder: Holder,
): string {
  const start = window === "session" ? "" : startMs / 1000;
  return `counts\t${window}\t${start}\t${holderText(holder)}`;
}

/** Returns the kind and name of a holder as one text. */
export function holderText({ kind, name }: Holder): string {
  return `${kind}\t${name}`;
}

/** Returns the digest of a holder for fields of tables, because a store receives fields in plain text. */
export function holderDigest(holder: Holder): string {
  return sha256Hex(holderText(holder)).slice(0, DIGEST_DIGITS);
}

/** 128 bits, in hexadecimal digits. */
const DIGEST_DIGITS = 32;

/** The unit of counting: a model on a connection. */
export interface Row {
  /** The connection's name. */
  readonly connection: string;
  readonly model: string;
}

/** Returns the field of a measure in a {@linkcode countsTable}. */
export function countsField(
  measure: Measure,
  { connection, model }: Row,
): string {
  return `${measure}\t${connection}\t${model}`;
}

/**
 * The dear turns of one cause. The cause is a word of `cache_miss`. If a part was edited, a space and this part follow.
 */
export interface CountedMiss {
  readonly cause: string;
  readonly requests: number;
  /** The extra cost of these turns, in nano-dollars; `undefined` without a price. */
  readonly nanos?: number | undefined;
}

/** Returns the cause under which a dear turn is counted, without the index of an edited part. */
export function missCause(why: string, at: string | undefined): string {
  return at === undefined ? why : `${why} ${at.replace(/\[.*/, "")}`;
}

/** Returns the field of a cause in a {@linkcode countsTable}. */
export function missField(
  measure: "requests" | "cost",
  cause: string,
): string {
  return `${MISS_PREFIX}${measure}\t${cause}`;
}

const MISS_PREFIX = "cache_miss_";

/** Returns the dear turns in a {@linkcode countsTable}, by cause. */
export function missesIn(
  table: ReadonlyMap<string, number>,
): readonly CountedMiss[] {
  const prefix = missField("requests", "");
  return [...table].filter(([field]) => field.startsWith(prefix))
    .map(([field, requests]) => {
      const cause = field.slice(prefix.length);
      return { cause, requests, nanos: table.get(missField("cost", cause)) };
    });
}

/** Parses a field of a {@linkcode countsTable}; returns `undefined` for other fields. */
export function readCountsField(
  field: string,
): (Row & { readonly measure: Measure }) | undefined {
  const [measure, connection, model, ...more] = field.split("\t");
  const known = MEASURES.find((one) => one === measure);
  const isOne = known !== undefined && connection !== undefined &&
    model !== undefined && more.length === 0;
  return isOne ? { measure: known, connection, model } : undefined;
}

/** The name and end of a table. */
type TablePlace = Omit<Sum, "field">;

/**
 * The largest number of tables of unlisted callers. It is enough for 20,000 callers. The tables of a caller take some 4
 * KB.
 */
const MAX_UNLISTED = 120_000;

/** The largest number of tables of sessions. A table takes some 600 bytes. */
const MAX_CROWDED = 200_000;

/** The part of the free places that the sessions of one caller may take, so that each caller leaves room for others. */
const CROWD_SHARE = 1 / 8;

/** The number of session tables that every caller may have at any time. */
const MIN_CROWD = 16;

/** Tables, each with an end. */
export interface EndingTables<Table> {
  /** Drops the tables that have ended. There is no timer: each read and write calls this first. */
  dropEnded(): void;
  /** Returns a table. If a session has no table of its own, returns the table that its crowd shares. */
  find(place: Pick<TablePlace, "table" | "crowd">): Table | undefined;
  /** Returns the end of a table that {@linkcode find} finds, in milliseconds since 1970. */
  endOf(place: Pick<TablePlace, "table" | "crowd">): number | undefined;
  /**
   * Returns a table, and creates the table if necessary. Returns `undefined` when the table has ended. If calls name
   * different ends, the earliest end applies.
   */
  open(place: TablePlace): Table | undefined;
  all(): Iterable<Table>;
}

interface EndingTablesOptions {
  /** The largest number of tables of unlisted callers. The table opened longest ago is dropped first. */
  readonly maxUnlisted?: number;
  /** The largest number of tables of sessions. */
  readonly maxCrowded?: number;
  /**
   * What a new session does when its caller has too many session tables. With `share`, it uses the table that the crowd
   * shares. With `drop`, it replaces the caller's oldest table.
   */
  readonly crowds?: "share" | "drop";
}

/** A table that is open. */
interface Opened<Table> extends TablePlace {
  readonly content: Table;
}

/**
 * Creates an empty collection of tables.
 *
 * @param make Makes an empty table.
 */
export function createEndingTables<Table>(
  clock: Pick<Clock, "now">,
  make: (name: string) => Table,
  {
    maxUnlisted = MAX_UNLISTED,
    maxCrowded = MAX_CROWDED,
    crowds = "share",
  }: EndingTablesOptions = {},
): EndingTables<Table> {
  const tables = new Map<string, Opened<Table>>();
  /** The names of the tables by their end. */
  const namesByEnd = new Map<number, Set<string>>();
  /** The names of the tables of unlisted callers. The table opened longest ago comes first. */
  const unlisted = new Set<string>();
  /** The names of the tables of each caller's sessions. The oldest table comes first. */
  const sessions = new Map<string, Set<string>>();
  let crowded = 0;
  let nextEndMs = Infinity;

  function drop(name: string): void {
    const found = tables.get(name);
    if (found === undefined) return;
    tables.delete(name);
    unlisted.delete(name);
    namesByEnd.get(found.endsAtMs)?.delete(name);
    const own = sessions.get(found.crowd ?? "");
    if (own?.delete(name)) crowded -= 1;
    if (own?.size === 0) sessions.delete(found.crowd ?? "");
  }

  function put(opened: Opened<Table>): void {
    const { table: name, endsAtMs } = opened;
    const names = namesByEnd.get(endsAtMs) ?? new Set();
    namesByEnd.set(endsAtMs, names.add(name));
    nextEndMs = Math.min(nextEndMs, endsAtMs);
    tables.set(name, opened);
  }

  /**
   * Returns the place for the table of a new session. If the caller has too many tables, this may be the table of the
   * crowd.
   */
  function placeIn(crowd: string, place: TablePlace): TablePlace {
    const own = sessions.get(crowd) ?? new Set();
    const most = Math.max(MIN_CROWD, (maxCrowded - crowded) * CROWD_SHARE);
    if (own.size >= most) {
      if (crowds === "share") {
        return { ...place, table: crowd, crowd: undefined };
      }
      const [oldest = ""] = own;
      drop(oldest);
    }
    crowded += 1;
    sessions.set(crowd, own.add(place.table));
    return place;
  }

  function opened({ table, crowd = "" }: Pick<TablePlace, "table" | "crowd">) {
    return tables.get(table) ?? tables.get(crowd);
  }

  function create(place: TablePlace): Opened<Table> {
    const { crowd, isUnlisted } = place;
    const free = crowd === undefined ? place : placeIn(crowd, place);
    const made = { ...free, content: make(free.table) };
    put(made);
    if (isUnlisted && crowd === undefined && unlisted.size >= maxUnlisted) {
      const [oldest = ""] = unlisted;
      drop(oldest);
    }
    return made;
  }

  return {
    dropEnded() {
      const nowMs = clock.now();
      if (nowMs < nextEndMs) return;
      nextEndMs = Infinity;
      for (const [endsAtMs, names] of namesByEnd) {
        if (endsAtMs > nowMs) nextEndMs = Math.min(nextEndMs, endsAtMs);
        else {
          for (const name of names) drop(name);
          namesByEnd.delete(endsAtMs);
        }
      }
    },
    find: (place) => opened(place)?.content,
    endOf: (place) => opened(place)?.endsAtMs,
    open(place) {
      const { endsAtMs, isUnlisted, crowd } = place;
      if (endsAtMs <= clock.now()) return undefined;
      const found = opened(place) ?? create(place);
      if (isUnlisted && crowd === undefined) {
        unlisted.delete(found.table);
        unlisted.add(found.table);
      }
      if (endsAtMs < found.endsAtMs) {
        namesByEnd.get(found.endsAtMs)?.delete(found.table);
        put({ ...found, endsAtMs });
      }
      return found.content;
    },
    *all() {
      for (const { content } of tables.values()) yield content;
    },
  };
}
