import { READ_ON, RETIREMENTS } from "./dates.ts";
import { daysBetween, readPlaces, retiring } from "./named_models.ts";

// `deno task models:dates [YYYY-MM-DD]` lists what our texts name and providers stop serving within a year of a day.

/** The age of the dates at which their sources should be read again, in days. */
const MAX_AGE_DAYS = 60;

const [today = new Date().toISOString().slice(0, 10)] = Deno.args;
const found = retiring(await readPlaces(), {
  table: RETIREMENTS,
  today,
  withinDays: 365,
});
for (const { id, date, kind, place, source } of found) {
  console.log(`${kind} ${date}  ${id}  in ${place}  ${source}`);
}
if (daysBetween(READ_ON, today) > MAX_AGE_DAYS) {
  console.log(
    `The dates are of ${READ_ON}. Read their sources again, and write the day into tests/retirements/dates.ts.`,
  );
}
if (found.some(({ kind }) => kind === "announced")) Deno.exit(1);
