import assert from "node:assert/strict";
import {
  TEXT_STATE_PLACES,
  TEXT_STEPS,
  type TextState,
} from "../../src/json_scan/text.ts";

/** The places of some states. */
type Places = ReadonlyMap<TextState, number>;

/** What a byte leads to from each state in which it may stand. */
type Row = ReadonlyMap<TextState, TextState>;

/** The bits of a state. */
const MASK = 31;

/** Every row that differs. */
function rows(): readonly Row[] {
  const found = new Map<string, Row>();
  for (let byte = 0; byte < 256; byte++) {
    const row = new Map(
      TEXT_STEPS.filter(([, first, last]) => first <= byte && byte <= last)
        .map(([state, , , next]) => [state, next]),
    );
    found.set(JSON.stringify([...row].sort()), row);
  }
  return [...found.values()];
}

/** Whether the bits of the states agree in a row, as far as their places are known. */
function agree(places: Places, row: Row): boolean {
  let bits = 0;
  let known = 0;
  for (const [state, place] of places) {
    const next = row.get(state);
    const value = next === undefined ? 0 : places.get(next);
    if (value === undefined) continue;
    if ((value << place) >>> place !== value) return false;
    if (((bits ^ (value << place)) & known & (MASK << place)) !== 0) {
      return false;
    }
    bits |= value << place;
    known |= MASK << place;
  }
  return true;
}

/** The first places for all states that agree in every row. */
function search(
  states: readonly TextState[],
  all: readonly Row[],
  places: Places = new Map(),
): Places | undefined {
  const [state, ...rest] = states;
  if (state === undefined) return places;
  const taken = new Set(places.values());
  for (let place = 1; place < 32; place++) {
    if (taken.has(place)) continue;
    const more = new Map(places).set(state, place);
    if (!all.every((row) => agree(more, row))) continue;
    const found = search(rest, all, more);
    if (found !== undefined) return found;
  }
  return undefined;
}

Deno.test("the places of the states are the first that agree in every row", () => {
  const states = TEXT_STEPS.map(([state]) => state);
  const order = Object.keys(TEXT_STATE_PLACES)
    .flatMap((name) => states.find((state) => state === name) ?? []);
  assert.equal(order.length, 9);
  const found = search(order, rows());
  assert.ok(found);
  assert.deepEqual(Object.fromEntries(found), TEXT_STATE_PLACES);
});
