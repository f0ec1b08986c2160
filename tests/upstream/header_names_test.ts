import assert from "node:assert/strict";
import {
  nameMatcher,
  WITHHELD_FROM_CALLER,
  WITHHELD_FROM_UPSTREAM,
} from "../../src/upstream/header_names.ts";

const TABLES = { WITHHELD_FROM_UPSTREAM, WITHHELD_FROM_CALLER };

for (const [name, groups] of Object.entries(TABLES)) {
  Deno.test(`${name} holds each name once, as headers spell it`, () => {
    const all = groups.flatMap((
      { names, prefixes },
    ) => [...names, ...prefixes]);
    assert.equal(new Set(all).size, all.length);
    for (const one of all) assert.match(one, /^[a-z0-9-]+$/);
  });

  Deno.test(`${name} holds no name that one of its prefixes takes already`, () => {
    const isPrefixed = nameMatcher(
      groups.map((group) => ({ ...group, names: [] })),
    );
    const names = groups.flatMap((group) => group.names);
    assert.deepEqual(names.filter(isPrefixed), []);
  });
}

Deno.test("nameMatcher() recognizes names and beginnings, and nothing that only holds them", () => {
  const isKnown = nameMatcher([
    { reason: "a", names: ["one"], prefixes: ["two-", "three"] },
    { reason: "b", names: ["four"], prefixes: [] },
  ]);
  for (const name of ["one", "four", "two-", "two-x", "three", "threefold"]) {
    assert.ok(isKnown(name), name);
  }
  const knowsOne = nameMatcher([{ reason: "", names: ["one"], prefixes: [] }]);
  assert.ok(knowsOne("one") && !knowsOne("two"));
  for (const name of ["ones", "x-one", "two", "x-two-x", "fourth", ""]) {
    assert.ok(!isKnown(name), name);
  }
});

Deno.test("nameMatcher() returns the same for a name each time, after any number of others", () => {
  const isKnown = nameMatcher([{
    reason: "",
    names: ["one"],
    prefixes: ["p-"],
  }]);
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < 3000; count++) {
      const name = `${count}${"x".repeat(count % 100)}`;
      assert.ok(isKnown(`p-${name}`) && !isKnown(`q-${name}`), name);
    }
    assert.ok(isKnown("one") && !isKnown("two"));
  }
});
