import assert from "node:assert/strict";
import { joinBytes } from "../../src/streams/bytes.ts";

Deno.test("joinBytes() puts chunks one behind the other, parts of larger memory too", () => {
  const memory = Uint8Array.of(1, 2, 3, 4, 5);
  const chunks = [memory.subarray(3), new Uint8Array(), memory.subarray(0, 2)];
  assert.deepEqual(joinBytes(chunks), Uint8Array.of(4, 5, 1, 2));
  assert.deepEqual(joinBytes([]), new Uint8Array());
});

Deno.test("joinBytes() copies no chunk that is alone", () => {
  const memory = Uint8Array.of(1, 2, 3);
  const alone = joinBytes([memory.subarray(1)]);
  assert.deepEqual(alone, Uint8Array.of(2, 3));
  assert.equal(alone.buffer, memory.buffer);
});
