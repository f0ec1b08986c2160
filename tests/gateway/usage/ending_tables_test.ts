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

Deno.test("a table is found by its name until it ends", () => {
  const { clock, tables } = begin();
  const place = { table: "hour", endsAtMs: 1000 };
  assert.equal(tables.find({ table: "hour" }), undefined);
  const opened = tables.open(place);
  opened?.set("requests", 1);
  assert.equal(tables.open(place), opened);
  assert.equal(tables.find({ table: "hour" }), opened);
  assert.equal(tables.find({ table: "day" }), undefined);
  clock.advance(999);
  tables.dropEnded();
  assert.equal(tables.find({ table: "hour" }), opened);
  clock.advance(1);
  tables.dropEnded();
  assert.equal(tables.find({ table: "hour" }), undefined);
});

Deno.test("a table that has ended is not opened", () => {
  const { clock, tables } = begin();
  clock.advance(1000);
  assert.equal(tables.open({ table: "hour", endsAtMs: 1000 }), undefined);
  assert.deepEqual([...tables.all()], []);
});

Deno.test("only tables that have ended are dropped", () => {
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

Deno.test("tables of unlisted callers are limited in number, and the table opened longest ago is dropped completely", () => {
  const clock = createFakeClock(0);
  const tables = createEndingTables(clock, () => new Map<string, number>(), {
    maxUnlisted: 2,
  });
  const open = (table: string, isUnlisted: boolean) =>
    tables.open({ table, endsAtMs: 1000, isUnlisted });
  open("alice", false);
  open("u-1", true)?.set("requests", 1);
  open("u-2", true);
  open("u-1", true);
  open("u-3", true);
  assert.equal(tables.find({ table: "u-2" }), undefined);
  assert.equal(tables.find({ table: "u-1" })?.get("requests"), 1);
  assert.ok(tables.find({ table: "alice" }) && tables.find({ table: "u-3" }));
  assert.equal(open("u-2", true)?.size, 0);
  clock.advance(1000);
  tables.dropEnded();
  assert.deepEqual([...tables.all()], []);
});

Deno.test("createCounting() marks only the tables of identity providers' callers as unlisted", () => {
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

/** Returns the place of a caller's session. */
const placeOf = (caller: string, session: number, endsAtMs = 1000) => ({
  ...{ table: `${caller}\t${session}`, crowd: caller, endsAtMs },
});

Deno.test("a caller's sessions beyond a limit share one table, and other callers' sessions keep their own tables", () => {
  const clock = createFakeClock(0);
  const tables = createEndingTables(clock, () => new Map<string, number>(), {
    maxCrowded: 900,
  });
  const count = (caller: string, session: number) => {
    const table = tables.open(placeOf(caller, session));
    table?.set("requests", (table.get("requests") ?? 0) + 1);
  };
  const countOf = (caller: string, session: number) =>
    tables.find(placeOf(caller, session))?.get("requests");
  for (let session = 0; session < 5; session++) count("alice", session);
  for (let session = 0; session < 100_000; session++) count("mallory", session);
  const size = [...tables.all()].length;
  assert.ok(size < 110, `${size} tables`);
  assert.equal(countOf("mallory", 0), 1, "the first ones are apart");
  assert.ok((countOf("mallory", 99_999) ?? 0) > 99_000, "the rest is not");
  assert.equal(countOf("mallory", 200_000), countOf("mallory", 99_999));
  // Many other callers are equally hostile.
  for (let caller = 0; caller < 50; caller++) {
    for (let session = 0; session < 1000; session++) {
      count(`mallory-${caller}`, session);
    }
  }
  for (let session = 5; session < 16; session++) count("alice", session);
  for (let session = 0; session < 16; session++) {
    assert.equal(countOf("alice", session), 1, `${session}`);
    count("bob", session);
    assert.equal(countOf("bob", session), 1, `${session}`);
  }
  assert.ok([...tables.all()].length < 900 + 52 * 17);
  clock.advance(1000);
  tables.dropEnded();
  assert.deepEqual([...tables.all()], []);
  count("mallory", 1);
  assert.equal(tables.find(placeOf("mallory", 1)), undefined, "it is over");
});

Deno.test("a session that once counted in its caller's shared table stays there", () => {
  const clock = createFakeClock(0);
  const tables = createEndingTables(clock, () => new Map<string, number>(), {
    maxCrowded: 8,
  });
  const open = (session: number, endsAtMs: number) =>
    tables.open(placeOf("mallory", session, endsAtMs));
  for (let session = 0; session < 16; session++) open(session, 1000);
  open(16, 5000)?.set("requests", 7);
  clock.advance(1000);
  tables.dropEnded();
  assert.equal(
    open(16, 5000)?.get("requests"),
    7,
    "though there is room again",
  );
  clock.advance(4000);
  tables.dropEnded();
  assert.equal(open(16, 9000)?.size, 0);
});

Deno.test("the caller's own oldest table is dropped when sessions cannot share a table", () => {
  const clock = createFakeClock(0);
  const tables = createEndingTables(clock, () => new Map<string, number>(), {
    ...{ maxCrowded: 8, maxUnlisted: 1, crowds: "drop" },
  });
  tables.open({ table: "bob", endsAtMs: 1000, isUnlisted: true });
  tables.open({ ...placeOf("alice", 1), isUnlisted: true });
  for (let session = 0; session < 1000; session++) {
    tables.open({ ...placeOf("mallory", session), isUnlisted: true });
  }
  assert.ok(tables.find({ table: "bob" }) && tables.find(placeOf("alice", 1)));
  assert.equal([...tables.all()].length, 18);
  assert.equal(tables.find(placeOf("mallory", 983)), undefined);
  assert.ok(tables.find(placeOf("mallory", 984)));
});

Deno.test("a table that is opened with several ends keeps the earliest end", () => {
  const { clock, tables } = begin();
  const life = { table: "life", isLife: true };
  const opened = tables.open({ ...life, endsAtMs: 3000 });
  assert.equal(tables.open({ ...life, endsAtMs: 2000 }), opened);
  assert.equal(tables.open({ ...life, endsAtMs: 9000 }), opened);
  assert.equal(tables.endOf(life), 2000);
  clock.advance(1500);
  tables.dropEnded();
  assert.equal(tables.open({ ...life, endsAtMs: 1500 }), undefined, "is over");
  assert.equal(tables.find(life), opened);
  clock.advance(500);
  tables.dropEnded();
  assert.equal(tables.find(life), undefined);
});
