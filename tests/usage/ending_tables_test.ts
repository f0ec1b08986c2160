import assert from "node:assert/strict";
import { createEndingTables } from "../../src/usage/tables.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

function begin() {
  const clock = createFakeClock(0);
  return { clock, tables: createEndingTables<number>(clock) };
}

Deno.test("a table that was opened is found by its name, until it ends", () => {
  const { clock, tables } = begin();
  const place = { table: "hour", endsAtMs: 1000 };
  assert.equal(tables.find("hour"), undefined);
  const opened = tables.open(place);
  opened?.set("requests", 1);
  assert.equal(tables.open(place), opened);
  assert.equal(tables.find("hour"), opened);
  assert.equal(tables.find("day"), undefined);
  clock.advance(999);
  tables.dropEnded();
  assert.equal(tables.find("hour"), opened);
  clock.advance(1);
  tables.dropEnded();
  assert.equal(tables.find("hour"), undefined);
});

Deno.test("a table that has ended is not opened", () => {
  const { clock, tables } = begin();
  clock.advance(1000);
  assert.equal(tables.open({ table: "hour", endsAtMs: 1000 }), undefined);
  assert.deepEqual([...tables.all()], []);
});

Deno.test("tables that end later stay when others are dropped, and are dropped in their turn", () => {
  const { clock, tables } = begin();
  for (const endsAtMs of [3000, 1000, 2000]) {
    tables.open({ table: `until ${endsAtMs}`, endsAtMs });
  }
  const left = () => {
    clock.advance(1000);
    tables.dropEnded();
    return [...tables.all()].length;
  };
  assert.deepEqual([left(), left(), left()], [2, 1, 0]);
});
