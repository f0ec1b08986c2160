import assert from "node:assert/strict";
import { bodyBytes, bodyLength } from "../../src/relay/held_body.ts";

const filled = (size: number) => new Uint8Array(size).fill(7);

Deno.test("a body that is held can be read again and again, whoever holds it", async () => {
  for (const size of [0, 1, 3e6]) {
    for (const held of [filled(size), new Blob([filled(size)])]) {
      for (const _ of ["once", "twice"]) {
        assert.deepEqual(await bodyBytes(held), filled(size));
      }
      assert.equal(bodyLength(held), size);
    }
  }
});
