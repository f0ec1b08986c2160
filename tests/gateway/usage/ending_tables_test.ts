import assert from "node:assert/strict";
import { createCounting } from "../../../src/gateway/usage/counting.ts";
import type { Addition } from "../../../src/gateway/usage/sums.ts";
import { createEndingTables } from "../../../src/gateway/usage/tables.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";

function begin() {
  const clock = createFakeClock(0);
  return {
    clock,
    tables: createEndingTables(clock, () => new Map<string, number>()),
  };
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

Deno.test("the tables of unlisted callers are bounded: the one opened longest ago goes, with all that names it", () => {
  const clock = createFakeClock(0);
  const tables = createEndingTables(clock, () => new Map<string, number>(), 2);
  const open = (table: string, isUnlisted: boolean) =>
    tables.open({ table, endsAtMs: 1000, isUnlisted });
  open("alice", false);
  open("u-1", true)?.set("requests", 1);
  open("u-2", true);
  open("u-1", true);
  open("u-3", true);
  assert.equal(tables.find("u-2"), undefined);
  assert.equal(tables.find("u-1")?.get("requests"), 1);
  assert.ok(tables.find("alice") && tables.find("u-3"));
  assert.equal(open("u-2", true)?.size, 0);
  clock.advance(1000);
  tables.dropEnded();
  assert.deepEqual([...tables.all()], []);
});

Deno.test("the usage of a caller of an identity provider is in such a table, and that of a listed one is not", () => {
  const additions: Addition[] = [];
  const counting = createCounting({
    apply: (change) => void additions.push(...change.additions),
  });
  const counts = { requests: 1 };
  const use = { connection: "main", model: "model-a", atMs: 0, counts };
  const group = { name: "staff", limits: [] };
  counting.count({ ...use, caller: { name: "alice", groups: [group] } });
  assert.ok(additions.every(({ isUnlisted = false }) => !isUnlisted));
  additions.length = 0;
  counting.count({
    ...use,
    caller: { name: "u-1 (x)", groups: [group], isUnlisted: true },
  });
  for (const { table, isUnlisted } of additions) {
    assert.equal(isUnlisted, table.includes("u-1"), table);
  }
});
