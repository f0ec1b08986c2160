import assert from "node:assert/strict";
import { countFree } from "../../../src/http1/deno/descriptors.ts";

/** Opens simulated descriptors, at most `most` at once. */
function createDescriptors(most = Infinity) {
  let count = 0;
  return {
    count: () => count,
    open() {
      if (count === most) {
        throw Object.assign(new Error("too many"), { code: "EMFILE" });
      }
      count++;
      return { close: () => count-- };
    },
  };
}

Deno.test("countFree() holds few descriptors in no turn of the event loop", async () => {
  const descriptors = createDescriptors();
  const counted = Array.from(
    { length: 10 },
    () => countFree(16, descriptors.open),
  );
  assert.equal(descriptors.count(), 0);
  assert.deepEqual(new Set(await Promise.all(counted)), new Set([undefined]));
});

Deno.test("countFree() lets other work run between many descriptors, and closes them", async () => {
  const descriptors = createDescriptors();
  const between: number[] = [];
  const counted = countFree(200, descriptors.open);
  setTimeout(() => between.push(descriptors.count()), 0);
  assert.equal(await counted, undefined);
  assert.deepEqual(between, [128]);
  assert.equal(descriptors.count(), 0);
});

Deno.test("countFree() returns the number of free descriptors when there are too few", async () => {
  const descriptors = createDescriptors(70);
  assert.equal(await countFree(200, descriptors.open), 70);
  assert.equal(descriptors.count(), 0);
});

Deno.test("countFree() counts the descriptors of this process", async () => {
  assert.equal(await countFree(16), undefined);
});
