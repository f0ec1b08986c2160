import assert from "node:assert/strict";
import { starterFile } from "../../src/services/starter.ts";
import { ownCodexEntry } from "../../src/gateway/http/codex_models.ts";
import packed from "../../src/gateway/http/codex_models.json" with {
  type: "json",
};
import { READ_ON, type Retirement, RETIREMENTS } from "./dates.ts";
import { readPlaces, retiring } from "./named_models.ts";

const ANNOUNCED = RETIREMENTS.filter(({ kind }) => kind === "announced");

const TODAY = new Date().toISOString().slice(0, 10);

Deno.test("no starter, page or setting names a model that retires within a year of the day on which the dates were read", async () => {
  const year = { table: ANNOUNCED, today: READ_ON, withinDays: 365 };
  assert.deepEqual(retiring(await readPlaces(), year), []);
});

Deno.test("no starter, page or setting names a model that has retired by today", async () => {
  const now = { table: ANNOUNCED, today: TODAY, withinDays: 0 };
  assert.deepEqual(retiring(await readPlaces(), now), []);
});

Deno.test("the searched texts name models, at least one with a date", async () => {
  const places = await readPlaces();
  const names = places.map(({ name }) => name);
  for (const name of ["README.md", "docs/clients.md", "init", "setup claude"]) {
    assert.ok(names.includes(name), name);
  }
  const year = { table: RETIREMENTS, today: READ_ON, withinDays: 365 };
  const found = retiring(places, year);
  assert.ok(found.some(({ place }) => place === "init"));
  assert.ok(found.every(({ kind }) => kind === "not before"));
});

Deno.test("every date is one, and has the page of the provider", () => {
  for (const { id, date, source } of RETIREMENTS) {
    assert.equal(new Date(date).toISOString().slice(0, 10), date, id);
    assert.match(source, /^https:\/\/\S+$/);
  }
  const ids = RETIREMENTS.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

const ROW: Retirement = {
  id: "gpt-5",
  date: "2026-12-11",
  kind: "announced",
  source: "https://a.example",
};

/** Days with the warning time, and whether the model of the row is found then. */
const DAYS: readonly (readonly [string, number, boolean])[] = [
  ["2026-12-10", 0, false],
  ["2026-12-11", 0, true],
  ["2027-01-01", 0, true],
  ["2025-12-10", 365, false],
  ["2025-12-11", 365, true],
];

for (const [today, withinDays, isFound] of DAYS) {
  Deno.test(`a model that retires on ${ROW.date} is ${isFound ? "" : "not "}found on ${today} within ${withinDays} days`, () => {
    const places = [{ name: "page", text: "models: [gpt-5]" }];
    const found = retiring(places, { table: [ROW], today, withinDays });
    assert.deepEqual(found, isFound ? [{ ...ROW, place: "page" }] : []);
  });
}

/** Texts, and whether they name the model of the row. */
const TEXTS: Readonly<Record<string, boolean>> = {
  "`gpt-5`": true,
  "Use gpt-5.": true,
  "gpt-5-2025-08-07, for instance": true,
  "openai/gpt-5": true,
  "gpt-5.5": false,
  "gpt-5-mini": false,
  "gpt-50": false,
  "my-gpt-5": false,
};

for (const [text, isNamed] of Object.entries(TEXTS)) {
  Deno.test(`"${text}" ${isNamed ? "names" : "does not name"} gpt-5`, () => {
    const now = { table: [ROW], today: ROW.date, withinDays: 0 };
    const found = retiring([{ name: "page", text }], now);
    assert.equal(found.length, isNamed ? 1 : 0);
  });
}

Deno.test("init names models of OpenAI that Codex knows", async () => {
  for (const service of ["openai", "codex"] as const) {
    const [, model = ""] = /^ {6}- (\S+)/m.exec(starterFile([service])) ?? [];
    const entry = await ownCodexEntry(model, packed.version);
    assert.ok(entry, `${service}: ${model}`);
  }
});
