import assert from "node:assert/strict";
import {
  bodyBytes,
  bodyLength,
  bodyPart,
  bodyPieces,
} from "../../../src/relay/request/held_body.ts";

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

Deno.test("a body that is held can be read in part, and piece by piece", async () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, at) => at % 251);
  for (const held of [bytes, new Blob([bytes])]) {
    const part = await bodyPart(held, { start: 1_000_001, end: 1_000_011 });
    assert.deepEqual(part, bytes.slice(1_000_001, 1_000_011));
    const pieces = await Array.fromAsync(bodyPieces(held));
    assert.deepEqual(await new Blob(pieces).bytes(), bytes);
    assert.ok(pieces.every(({ length }) => length <= 1024 * 1024));
  }
  assert.deepEqual(await Array.fromAsync(bodyPieces(new Uint8Array())), []);
});
