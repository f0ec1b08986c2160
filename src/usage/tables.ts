import { sha256Hex } from "../core/sha256.ts";
import {
  calendarSpan,
  type CalendarWindow,
  type TimeSpan,
} from "../core/time/calendar.ts";
import type { Clock } from "../core/time/timers.ts";
import { type Measure, MEASURES } from "./counts.ts";
import type { Sum } from "./sums.ts";

/*
 * The names of tables of sums and of their fields. Tabs stand between the parts, since no name of the configuration
 * holds one.
 */

/** Whose sums they are. */
export interface Holder {
  readonly kind: "token" | "group";
  readonly name: string;
}

/** Windows that `GET /usage` reports. Everything is counted for these, and for limits by the minute, too. */
export const REPORTED_WINDOWS = ["hour", "day", "week", "month"] as const;

/** One of {@linkcode REPORTED_WINDOWS}. */
export type ReportedWindow = typeof REPORTED_WINDOWS[number];

/** A window of the calendar with its place in time. */
export interface PlacedWindow<Window extends CalendarWindow = CalendarWindow>
  extends TimeSpan {
  readonly window: Window;
}

/** The window that a moment lies in. */
export function placedAt<Window extends CalendarWindow>(
  window: Window,
  atMs: number,
): PlacedWindow<Window> {
  return { window, ...calendarSpan(window, atMs) };
}

/**
 * Returns the name of the table of all that a holder used in a window. It has a field for each measure, connection and
 * model ({@linkcode countsField}), and one for each unit of a limit with the total, called as the unit.
 */
export function countsTable(
  { window, startMs }: PlacedWindow,
  holder: Holder,
): string {
  return `counts\t${window}\t${startMs / 1000}\t${holderText(holder)}`;
}

/** Returns a holder in one text. */
export function holderText({ kind, name }: Holder): string {
  return `${kind}\t${name}`;
}

/** Returns what stands for a holder in the fields of tables: fields reach a store in clear. */
export function holderDigest(holder: Holder): string {
  return sha256Hex(holderText(holder)).slice(0, DIGEST_DIGITS);
}

/** 128 bits. */
const DIGEST_DIGITS = 32;

/** What is counted apart: a model as callers know it, on a connection. */
export interface Row {
  /** The connection's name. */
  readonly connection: string;
  readonly model: string;
}

/** The field of a measure in a {@linkcode countsTable}. */
export function countsField(
  measure: Measure,
  { connection, model }: Row,
): string {
  return `${measure}\t${connection}\t${model}`;
}

/** What a field of a {@linkcode countsTable} means; `undefined` for what is none. */
export function readCountsField(
  field: string,
): (Row & { readonly measure: Measure }) | undefined {
  const [measure, connection, model, ...more] = field.split("\t");
  const known = MEASURES.find((one) => one === measure);
  const isOne = known !== undefined && connection !== undefined &&
    model !== undefined && more.length === 0;
  return isOne ? { measure: known, connection, model } : undefined;
}

/** Where a table is: those of one name end at one time. */
type TablePlace = Pick<Sum, "table" | "endsAtMs">;

/** Tables of values by field, each until its moment. */
interface EndingTables<Value> {
  /** Forgets the tables that have ended. There is no timer: whoever is asked for something calls this first. */
  dropEnded(): void;
  find(name: string): Map<string, Value> | undefined;
  /** `undefined` for a table that has ended. */
  open(place: TablePlace): Map<string, Value> | undefined;
  all(): Iterable<ReadonlyMap<string, Value>>;
}

/** There are no tables yet. */
export function createEndingTables<Value>(
  clock: Pick<Clock, "now">,
): EndingTables<Value> {
  const tables = new Map<string, Map<string, Value>>();
  /** By the moment when they end. */
  const namesByEnd = new Map<number, string[]>();
  let nextEndMs = Infinity;

  return {
    dropEnded() {
      const nowMs = clock.now();
      if (nowMs < nextEndMs) return;
      nextEndMs = Infinity;
      for (const [endsAtMs, names] of namesByEnd) {
        if (endsAtMs > nowMs) nextEndMs = Math.min(nextEndMs, endsAtMs);
        else {
          for (const name of names) tables.delete(name);
          namesByEnd.delete(endsAtMs);
        }
      }
    },
    find: (name) => tables.get(name),
    open({ table: name, endsAtMs }) {
      const found = tables.get(name);
      if (found !== undefined) return found;
      if (endsAtMs <= clock.now()) return undefined;
      const opened = new Map<string, Value>();
      tables.set(name, opened);
      const names = namesByEnd.get(endsAtMs) ?? [];
      names.push(name);
      namesByEnd.set(endsAtMs, names);
      nextEndMs = Math.min(nextEndMs, endsAtMs);
      return opened;
    },
    all: () => tables.values(),
  };
}
