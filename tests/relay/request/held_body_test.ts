import assert from "node:assert/strict";
import {
  bodyBytes,
  bodyChunks,
  bodyPart,
  keepBody,
} from "../../../src/relay/request/held_body.ts";
import { LongBytes } from "../../../src/streams/bytes.ts";

const filled = (size: number) => new Uint8Array(size).fill(7);

/** Splits the bytes into chunks of a million. */
function inPieces(bytes: Uint8Array<ArrayBuffer>): LongBytes {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length; start += 1e6) {
    pieces.push(bytes.slice(start, start + 1e6));
  }
  return new LongBytes(pieces);
}

Deno.test("a held body can be read repeatedly by each of its holders", async () => {
  for (const size of [0, 1, 3e6]) {
    for (const held of [filled(size), inPieces(filled(size))]) {
      for (const _ of ["once", "twice"]) {
        assert.deepEqual(await bodyBytes(held), filled(size));
      }
      assert.equal(held.length, size);
    }
  }
});

Deno.test("a body that is held can be read in part, and piece by piece", async () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, at) => at % 251);
  for (const held of [bytes, inPieces(bytes)]) {
    const spans = [[1_000_001, 1_000_011], [999_999, 2_000_001]] as const;
    for (const [start, end] of spans) {
      const part = bodyPart(held, { start, end });
      assert.deepEqual(part, bytes.slice(start, end));
    }
    const pieces = await Array.fromAsync(bodyChunks(held));
    assert.deepEqual(await new Blob(pieces).bytes(), bytes);
    assert.ok(pieces.every(({ length }) => length <= 1024 * 1024));
  }
  assert.deepEqual(await Array.fromAsync(bodyChunks(new Uint8Array())), []);
});

Deno.test("a released long body frees its memory at once", () => {
  const body = inPieces(filled(3e6));
  let count = 0;
  const kept = keepBody(body, () => count++);
  kept.lendTo({ isThrough: true });
  kept.release();
  assert.ok(body.pieces.every(({ buffer }) => buffer.detached));
  assert.throws(() => kept.get(), /was released/);
  kept.release();
  assert.equal(count, 1);
});

Deno.test("a long body that is let go stays there for an upload that is not through", () => {
  const body = inPieces(filled(3e6));
  const kept = keepBody(body, () => {});
  kept.lendTo({ isThrough: true });
  kept.lendTo({ isThrough: false });
  kept.release();
  assert.deepEqual(body.join(), filled(3e6));
});

Deno.test("a short body that is let go stays as it is", () => {
  const body = filled(10);
  keepBody(body, () => {}).release();
  assert.deepEqual(body, filled(10));
});
