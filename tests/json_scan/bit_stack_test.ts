import { deepEqual, equal } from "node:assert/strict";
import { BitStack } from "../../src/json_scan/walker.ts";
import { createRandom } from "../support/fakes/random.ts";

Deno.test("BitStack returns its bits, the last one first, at any depth", () => {
  for (const depth of [0, 1, 31, 32, 33, 64, 65, 1023, 1024, 1025, 5000]) {
    const random = createRandom(depth);
    const bits = Array.from({ length: depth }, () => random.below(2) === 1);
    const stack = new BitStack();
    for (const bit of bits) stack.push(bit);
    const popped: boolean[] = [];
    while (stack.size > 0) {
      popped.push(stack.top);
      stack.pop();
    }
    deepEqual(popped, bits.reverse(), `depth ${depth}`);
    equal(stack.top, false);
  }
});

Deno.test("BitStack behaves like a list when it grows and shrinks in turn", () => {
  const random = createRandom(1);
  const list: boolean[] = [];
  const stack = new BitStack();
  for (let round = 0; round < 20_000; round++) {
    if (random.below(100) < (round < 10_000 ? 60 : 40) || list.length === 0) {
      const bit = random.below(2) === 1;
      list.push(bit);
      stack.push(bit);
    } else {
      list.pop();
      stack.pop();
    }
    equal(stack.size, list.length);
    equal(stack.top, list.at(-1) ?? false);
  }
});
