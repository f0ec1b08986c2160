import assert from "node:assert/strict";
import { LongBytes } from "../../src/streams/bytes.ts";

const BYTES = Uint8Array.from({ length: 20 }, (_, index) => index);

/** The same twenty bytes, cut in other places. */
const CUTS: readonly (readonly number[])[] = [
  [],
  [10],
  [1, 2, 3, 19],
  [5, 5, 15],
  [0, 20],
];

function cut(places: readonly number[]): LongBytes {
  const ends = [...places, BYTES.length];
  return new LongBytes(
    ends.map((end, index) => BYTES.slice(places[index - 1] ?? 0, end)),
  );
}

Deno.test("long bytes are the same with any cuts", () => {
  for (const places of CUTS) {
    const bytes = cut(places);
    assert.equal(bytes.length, BYTES.length);
    assert.deepEqual(bytes.join(), BYTES);
  }
});

Deno.test("a slice of long bytes holds what an array's would", () => {
  for (const places of CUTS) {
    for (let start = 0; start <= BYTES.length; start++) {
      for (let end = start; end <= BYTES.length + 1; end++) {
        const slice = cut(places).slice(start, end);
        const expected = BYTES.slice(start, end);
        assert.equal(slice.length, expected.length);
        assert.deepEqual(slice.join(), expected);
      }
      assert.deepEqual(cut(places).slice(start).join(), BYTES.slice(start));
    }
  }
});

Deno.test("a slice of long bytes takes no memory of its own", () => {
  const bytes = cut([10]);
  const memory = bytes.pieces.map(({ buffer }) => buffer);
  const slice = bytes.slice(5, 15);
  assert.deepEqual(slice.pieces.map(({ length }) => length), [5, 5]);
  slice.pieces.forEach(({ buffer }, index) =>
    assert.equal(buffer, memory[index])
  );
});

Deno.test("no long bytes are an empty array", () => {
  assert.deepEqual(new LongBytes([]).join(), new Uint8Array());
  assert.deepEqual(cut([10]).slice(20).pieces, []);
});

Deno.test("long bytes that are freed take no memory, and may be freed again", () => {
  const bytes = cut([5]);
  bytes.free();
  assert.ok(bytes.pieces.every(({ length }) => length === 0));
  bytes.free();
  const whole = BYTES.slice();
  new LongBytes([whole.subarray(0, 5), whole.subarray(5)]).free();
  assert.equal(whole.length, 0);
});
