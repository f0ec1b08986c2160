import assert from "node:assert/strict";
import {
  LinkedList,
  lookup,
  type TakeOut,
  TtlCache,
} from "../../src/base/collections.ts";
import { createRandom } from "../support/fakes/random.ts";
import { memoized, oncePer, SingleFlight } from "../../src/base/memo.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

Deno.test("A LinkedList is empty at first", () => {
  const list = new LinkedList<string>();
  assert.equal(list.size, 0);
  assert.equal(list.first, undefined);
  assert.equal(list.shift(), undefined);
  assert.deepEqual([...list], []);
});

Deno.test("A value leaves a LinkedList only once", () => {
  const list = new LinkedList<string>();
  const takeOut = list.add("a");
  list.add("b");
  takeOut();
  takeOut();
  assert.deepEqual([...list], ["b"]);
  assert.equal(list.shift(), "b");
  const takeOutAgain = list.add("a");
  assert.equal(list.shift(), "a");
  takeOutAgain();
  takeOut();
  assert.equal(list.size, 0);
});

Deno.test("The values of a LinkedList can be removed during an iteration", () => {
  const list = new LinkedList<number>();
  const takeOut = new Map<number, TakeOut>();
  for (const value of [1, 2, 3, 4]) takeOut.set(value, list.add(value));
  const seen: number[] = [];
  for (const value of list) {
    seen.push(value);
    takeOut.get(value)?.();
  }
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.equal(list.size, 0);
});

Deno.test("A LinkedList has the same values as an array", () => {
  const random = createRandom(1);
  const list = new LinkedList<number>();
  let expected: number[] = [];
  const takeOut = new Map<number, TakeOut>();
  for (let round = 0; round < 5000; round++) {
    const kind = random.below(5);
    if (kind < 3) {
      takeOut.set(round, list.add(round));
      expected.push(round);
    } else if (kind === 3) {
      assert.equal(list.shift(), expected.shift());
    } else if (expected.length > 0) {
      const value = random.pick(expected);
      takeOut.get(value)?.();
      expected = expected.filter((other) => other !== value);
    }
    assert.equal(list.size, expected.length);
    assert.equal(list.first, expected[0]);
  }
  assert.ok(expected.length > 100);
  assert.deepEqual([...list], expected);
});

Deno.test("lookup() finds only the table's own entries", () => {
  const table = { a: 1 };
  assert.equal(lookup(table, "a"), 1);
  for (const key of ["b", "constructor", "toString", "__proto__"]) {
    assert.equal(lookup(table, key), undefined, key);
  }
});

Deno.test("memoized() computes the value of a text once, and drops all values when the cache is full", () => {
  const asked: string[] = [];
  const upper = memoized((text) => {
    asked.push(text);
    return text.toUpperCase();
  }, 2);
  for (const text of ["a", "b", "a", "b", "c", "c", "a"]) {
    assert.equal(upper(text), text.toUpperCase());
  }
  assert.deepEqual(asked, ["a", "b", "c", "a"]);
});

Deno.test("memoized() does not keep a long text", () => {
  let calls = 0;
  const lengthOf = memoized(({ length }) => {
    calls++;
    return length;
  }, 10);
  const long = "x".repeat(1025);
  assert.deepEqual([lengthOf(long), lengthOf(long)], [1025, 1025]);
  assert.equal(calls, 2);
});

Deno.test("oncePer() computes a value once for each object, even undefined", () => {
  const asked: string[] = [];
  const lengthOf = oncePer(({ name }: { readonly name: string }) => {
    asked.push(name);
    return name.length === 0 ? undefined : name.length;
  });
  const [empty, one, other] = [{ name: "" }, { name: "abc" }, { name: "abc" }];
  for (const key of [empty, one, other, empty, one, other]) {
    assert.equal(lengthOf(key), key.name.length || undefined);
  }
  assert.deepEqual(asked, ["", "abc", "abc"]);
});

Deno.test("oncePer() computes again after a failure", () => {
  let failures = 1;
  const make = oncePer(() => {
    if (failures-- > 0) throw new Error("not yet");
    return "made";
  });
  const key = {};
  assert.throws(() => make(key), /not yet/);
  assert.equal(make(key), "made");
});

Deno.test("TtlCache drops the oldest value when it is full", () => {
  const cache = new TtlCache<string, number>(createFakeClock(0));
  const bounds = { ttlMs: 100, maxSize: 2 };
  const values = [["a", 1], ["b", 2], ["a", 3], ["c", 4]] as const;
  for (const [key, value] of values) cache.set(key, value, bounds);
  const left = ["a", "b", "c"].map((key) => cache.get(key));
  assert.deepEqual(left, [3, undefined, 4]);
  assert.equal(cache.size, 2);
});

Deno.test("a full TtlCache drops the oldest value of the owner with the most values", () => {
  const cache = new TtlCache<string, string>(createFakeClock(0));
  const bounds = { ttlMs: 100, maxSize: 4 };
  const set = (owner: string, ...keys: readonly string[]) => {
    for (const key of keys) cache.set(key, owner, { ...bounds, owner });
  };
  const kept = () =>
    ["a1", "a2", "b1", "b2", "b3", "b4", "c1"].filter((key) => cache.get(key));
  set("a", "a1", "a2");
  set("b", "b1", "b2", "b3", "b4");
  assert.deepEqual(kept(), ["a1", "a2", "b3", "b4"]);
  set("c", "c1");
  assert.deepEqual(kept(), ["a2", "b3", "b4", "c1"]);
  // A dropped or replaced value no longer counts.
  cache.retain(new Set(["a2", "b3", "c1"]));
  set("c", "a2");
  set("a", "b1", "b2");
  assert.deepEqual(kept(), ["a2", "b1", "b2", "b3"]);
});

Deno.test("SingleFlight shares running work among callers with the same key", async () => {
  const flights = new SingleFlight<string, number>();
  const { promise, resolve } = Promise.withResolvers<number>();
  let started = 0;
  const work = () => {
    started += 1;
    return promise;
  };
  const askers = [1, 2, 3].map(() => flights.run("a", work));
  const other = flights.run("b", () => Promise.resolve(7));
  resolve(5);
  assert.deepEqual(await Promise.all(askers), [5, 5, 5]);
  assert.equal(await other, 7);
  assert.equal(started, 1);
});

Deno.test("SingleFlight begins again once the work has settled", async () => {
  const flights = new SingleFlight<string, number>();
  let started = 0;
  const work = () => Promise.resolve(++started);
  assert.equal(await flights.run("a", work), 1);
  assert.equal(await flights.run("a", work), 2);
});

Deno.test("SingleFlight passes a failure to all callers and does not cache it", async () => {
  const flights = new SingleFlight<string, number>();
  const fail = () => Promise.reject(new Error("no"));
  const askers = [flights.run("a", fail), flights.run("a", fail)];
  for (const asker of askers) await assert.rejects(asker, /no/);
  assert.equal(await flights.run("a", () => Promise.resolve(1)), 1);
});

Deno.test("SingleFlight handles work that throws synchronously like work that rejects", async () => {
  const flights = new SingleFlight<string, number>();
  const fail = () => {
    throw new Error("no");
  };
  await assert.rejects(flights.run("a", fail), /no/);
  assert.equal(await flights.run("a", () => Promise.resolve(1)), 1);
});

Deno.test("TtlCache keeps a value until it expires", () => {
  const clock = createFakeClock(0);
  const cache = new TtlCache<string, number>(clock);
  cache.set("a", 1, { ttlMs: 100 });
  clock.advance(99);
  assert.equal(cache.get("a"), 1);
  clock.advance(1);
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.size, 0);
});

Deno.test("TtlCache replaces a value together with its expiry", () => {
  const clock = createFakeClock(0);
  const cache = new TtlCache<string, number>(clock);
  cache.set("a", 1, { ttlMs: 100 });
  clock.advance(50);
  cache.set("a", 2, { ttlMs: 100 });
  clock.advance(99);
  assert.equal(cache.get("a"), 2);
});

Deno.test("TtlCache.retain() drops all other keys", () => {
  const cache = new TtlCache<string, number>(createFakeClock(0));
  cache.set("a", 1, { ttlMs: 100 });
  cache.set("b", 2, { ttlMs: 100 });
  cache.retain(new Set(["b", "c"]));
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.get("b"), 2);
  assert.equal(cache.size, 1);
});
