import { sha256Hex } from "@gateway/base/sha256";
import {
  calendarSpan,
  type CalendarWindow,
  type TimeSpan,
} from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import { type Measure, MEASURES } from "./counts.ts";
import type { Sum } from "./sums.ts";

/*
 * The names of tables of sums and of their fields. Tabs separate the parts, because no name in the configuration
 * contains one.
 */

/** The token, group or session that sums belong to. */
export interface Holder {
  readonly kind: "token" | "group" | "session";
  readonly name: string;
}

/** The number of sessions of one token that are counted apart: an agent that names any number takes no more memory. */
const SESSION_SLOTS = 16_384;

/**
 * Returns the holder of a session's usage. It has a number in place of the session's name, which is the client's text.
 * Two sessions of a token that get the same number share their limits; none ever has more.
 *
 * @param token The name of the caller.
 */
export function sessionHolder(token: string, session: string): Holder {
  const slot = parseInt(sha256Hex(session).slice(0, 8), 16) % SESSION_SLOTS;
  return { kind: "session", name: `${token}\t${slot}` };
}

/** The windows that `GET /usage` reports. Usage is counted for these, and per minute for limits. */
export const REPORTED_WINDOWS = ["hour", "day", "week", "month"] as const;

/** One of {@linkcode REPORTED_WINDOWS}. */
export type ReportedWindow = typeof REPORTED_WINDOWS[number];

/** A calendar window with its start and end. */
export interface PlacedWindow<Window extends CalendarWindow = CalendarWindow>
  extends TimeSpan {
  readonly window: Window;
}

/** Returns the window that contains a moment. */
export function placedAt<Window extends CalendarWindow>(
  window: Window,
  atMs: number,
): PlacedWindow<Window> {
  return { window, ...calendarSpan(window, atMs) };
}

/**
 * Returns the name of the table of a holder's usage in a window. It has a field for each measure, connection and model
 * ({@linkcode countsField}). For each unit of limits it has a field with the total, named as the unit.
 */
export function countsTable(
  { window, startMs }: PlacedWindow,
  holder: Holder,
): string {
  return `counts\t${window}\t${startMs / 1000}\t${holderText(holder)}`;
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

/** The dear turns of one cause: a word of `cache_miss`, with the edited part after a space. */
export interface CountedMiss {
  readonly cause: string;
  readonly requests: number;
  /** What they cost more, in nano-dollars; `undefined` without a price. */
  readonly nanos?: number | undefined;
}

/** Returns the cause of a dear turn as it is counted. The index of an edited part does not count. */
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

/** The name and end of a table; tables of one name end at the same time. */
type TablePlace = Pick<Sum, "table" | "endsAtMs" | "isUnlisted">;

/** The number of tables of unlisted callers: those of 20,000, which take some 4 KB each. */
const MAX_UNLISTED = 120_000;

/** Tables, each with an end. */
export interface EndingTables<Table> {
  /** Drops the tables that have ended. There is no timer: each read and write calls this first. */
  dropEnded(): void;
  find(name: string): Table | undefined;
  /** Returns a table, created if necessary; `undefined` when it has ended. */
  open(place: TablePlace): Table | undefined;
  all(): Iterable<Table>;
}

/**
 * Creates an empty collection of tables.
 *
 * @param make Makes an empty table.
 * @param maxUnlisted The number of tables of unlisted callers. The one opened longest ago is dropped first.
 */
export function createEndingTables<Table>(
  clock: Pick<Clock, "now">,
  make: (name: string) => Table,
  maxUnlisted = MAX_UNLISTED,
): EndingTables<Table> {
  const tables = new Map<string, Table>();
  /** The names of the tables by their end. */
  const namesByEnd = new Map<number, Set<string>>();
  /** The ends of the tables of unlisted callers by name; the one opened longest ago comes first. */
  const unlisted = new Map<string, number>();
  let nextEndMs = Infinity;

  function noteUnlisted({ table, endsAtMs }: TablePlace): void {
    unlisted.delete(table);
    unlisted.set(table, endsAtMs);
    if (unlisted.size <= maxUnlisted) return;
    for (const [oldest, itsEndMs] of unlisted) {
      unlisted.delete(oldest);
      tables.delete(oldest);
      namesByEnd.get(itsEndMs)?.delete(oldest);
      return;
    }
  }

  return {
    dropEnded() {
      const nowMs = clock.now();
      if (nowMs < nextEndMs) return;
      nextEndMs = Infinity;
      for (const [endsAtMs, names] of namesByEnd) {
        if (endsAtMs > nowMs) nextEndMs = Math.min(nextEndMs, endsAtMs);
        else {
          for (const name of names) {
            tables.delete(name);
            unlisted.delete(name);
          }
          namesByEnd.delete(endsAtMs);
        }
      }
    },
    find: (name) => tables.get(name),
    open(place) {
      const { table: name, endsAtMs, isUnlisted = false } = place;
      const found = tables.get(name);
      if (found === undefined && endsAtMs <= clock.now()) return undefined;
      if (isUnlisted) noteUnlisted(place);
      if (found !== undefined) return found;
      const opened = make(name);
      tables.set(name, opened);
      const names = namesByEnd.get(endsAtMs) ?? new Set();
      namesByEnd.set(endsAtMs, names.add(name));
      nextEndMs = Math.min(nextEndMs, endsAtMs);
      return opened;
    },
    all: () => tables.values(),
  };
}
