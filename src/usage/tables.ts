import {
  calendarSpan,
  type CalendarWindow,
  type TimeSpan,
} from "../core/time/calendar.ts";
import { type Measure, MEASURES } from "./counts.ts";
import type { Sum } from "./sums.ts";

/*
 * How the tables of sums and their fields are called. The parts stand behind tabs, which no name of the configuration
 * holds.
 */

/** Whose sums they are. */
export interface Holder {
  readonly kind: "token" | "group";
  readonly name: string;
}

/** Windows that `GET /usage` tells, and for which all is counted. */
export const COUNTED_WINDOWS = ["hour", "day", "week", "month"] as const;

/** One of {@linkcode COUNTED_WINDOWS}. */
export type CountedWindow = typeof COUNTED_WINDOWS[number];

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

/** The table of all that a holder used in a window, by measure, connection and model. */
export function countsTable(
  { window, startMs }: PlacedWindow,
  holder: Holder,
): string {
  return `counts\t${window}\t${startMs / 1000}\t${holderText(holder)}`;
}

/** The table of what limits of a holder count in a window. */
export function limitsTable(
  { window, startMs }: PlacedWindow,
  holder: Holder,
): string {
  return `limits\t${window}\t${startMs / 1000}\t${holderText(holder)}`;
}

/** A holder in one text. */
export function holderText({ kind, name }: Holder): string {
  return `${kind}\t${name}`;
}

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

/** A sum of a table that ends with its window. */
export function sumIn(
  table: string,
  field: string,
  { endMs }: TimeSpan,
): Sum {
  return { table, field, endsAtMs: endMs };
}
