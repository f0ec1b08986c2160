import { SERVICE_NAMES } from "../../src/services/services.ts";
import { starterFile } from "../../src/services/starter.ts";
import { CLIENTS } from "../../src/page/wording/settings.js";
import { readPages } from "../support/program/pages.ts";
import type { Retirement } from "./dates.ts";

/** A text that readers copy models from. */
export interface Place {
  readonly name: string;
  readonly text: string;
}

/** A model that a place names, and its date. */
export interface NamedModel extends Retirement {
  readonly place: string;
}

/** Reads the README, the documentation, what `init` writes and what `setup` prints. */
export async function readPlaces(): Promise<readonly Place[]> {
  const pages = [...await readPages()]
    .filter(([name]) => name === "README.md" || name.startsWith("docs/"))
    .map(([name, text]) => ({ name, text }));
  const place = { base: "", model: "m", models: [{ id: "m", protocols: [] }] };
  return [
    ...pages,
    { name: "init", text: starterFile(SERVICE_NAMES) },
    ...CLIENTS.map(({ id, settings }) => ({
      name: `setup ${id}`,
      text: settings(place).text,
    })),
  ];
}

/**
 * Returns the models of a table that some place names, if their day is at most `withinDays` after `today`.
 *
 * @param today `YYYY-MM-DD`.
 */
export function retiring(
  places: readonly Place[],
  { table, today, withinDays }: {
    readonly table: readonly Retirement[];
    readonly today: string;
    readonly withinDays: number;
  },
): readonly NamedModel[] {
  return table.filter(({ date }) => daysBetween(today, date) <= withinDays)
    .flatMap((one) =>
      places.filter(({ text }) => idRegExp(one.id).test(text))
        .map(({ name }) => ({ ...one, place: name }))
    );
}

/** Returns the days from one date to another, both `YYYY-MM-DD`. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / (24 * 60 * 60 * 1000);
}

/** Matches an id, or a dated version of it, but no longer id such as `gpt-5.5` for `gpt-5`. */
function idRegExp(id: string): RegExp {
  const version = String.raw`(?:-(?:\d{8}|\d{4}-\d\d-\d\d))?`;
  return new RegExp(`(?<![\\w.-])${RegExp.escape(id)}${version}(?![-.]?\\w)`);
}
