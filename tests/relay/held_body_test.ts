import assert from "node:assert/strict";
import { bodyBytes, holdBody } from "../../src/relay/held_body.ts";

const LARGEST_ARRAY = 256 * 1024;

const filled = (size: number) => new Uint8Array(size).fill(7);

Deno.test("a body that is held can be read again and again", async () => {
  for (const size of [0, 1, LARGEST_ARRAY, LARGEST_ARRAY + 1, 3e6]) {
    const held = holdBody(filled(size));
    for (const _ of ["once", "twice"]) {
      assert.deepEqual(await bodyBytes(held), filled(size));
    }
  }
});

Deno.test("a small body is held as it is, a large one with the platform alone", () => {
  const small = filled(LARGEST_ARRAY);
  assert.equal(holdBody(small), small);
  assert.equal(small.length, LARGEST_ARRAY);
  const large = filled(LARGEST_ARRAY + 1);
  assert.ok(holdBody(large) instanceof Blob);
  assert.equal(large.buffer.byteLength, 0);
});
