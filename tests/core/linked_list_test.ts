import assert from "node:assert/strict";
import { LinkedList, type TakeOut } from "../../src/core/collections.ts";
import { createRandom } from "../support/fakes/random.ts";

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
