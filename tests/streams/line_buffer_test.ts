import assert from "node:assert/strict";
import { bothEnds, LineBuffer } from "../../src/streams/line_buffer.ts";
import { createRandom } from "../support/fakes/random.ts";

/** Bytes that show where they stood. */
function numbered(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

Deno.test("LineBuffer joins the pieces of a line and begins again when cleared", () => {
  const buffer = new LineBuffer(10_000);
  for (const length of [3000, 100_000]) {
    const line = numbered(Math.min(length, 10_000));
    const random = createRandom(length);
    for (let start = 0; start < line.length;) {
      const end = start + 1 + random.below(700);
      buffer.append(line.subarray(start, end));
      start = end;
      assert.equal(buffer.length, Math.min(end, line.length));
    }
    assert.deepEqual(buffer.bytes, line);
    buffer.clear();
    assert.equal(buffer.length, 0);
    assert.deepEqual(buffer.bytes, new Uint8Array());
  }
});

Deno.test("LineBuffer keeps no view of the pieces", () => {
  const buffer = new LineBuffer(100);
  const piece = Uint8Array.of(1, 2, 3);
  buffer.append(piece);
  piece.fill(0);
  assert.deepEqual([...buffer.bytes], [1, 2, 3]);
});

Deno.test("LineBuffer keeps the two ends of a line that is too long, and its whole length", () => {
  const line = numbered(1_000_000);
  for (const step of [1000, 333_333, 1_000_000]) {
    const buffer = new LineBuffer(2000);
    for (let start = 0; start < line.length; start += step) {
      buffer.append(line.subarray(start, start + step));
    }
    assert.equal(buffer.length, line.length);
    assert.deepEqual(buffer.bytes, bothEnds(line));
    assert.ok(buffer.bytes.buffer.byteLength <= 4096);
    buffer.clear();
    buffer.append(line.subarray(0, 2000));
    assert.deepEqual(buffer.bytes, line.subarray(0, 2000));
  }
});

Deno.test("LineBuffer releases the memory of a long line", () => {
  const buffer = new LineBuffer(1_000_000);
  buffer.append(numbered(500_000));
  buffer.clear();
  buffer.append(numbered(10));
  assert.ok(buffer.bytes.buffer.byteLength <= 64 * 1024);
});

Deno.test("bothEnds() leaves up to 1 KiB whole and joins the ends of the rest", () => {
  assert.deepEqual(bothEnds(numbered(1024)), numbered(1024));
  const line = numbered(1025);
  assert.deepEqual(
    bothEnds(line),
    Uint8Array.of(
      ...line.subarray(0, 512),
      ...line.subarray(-512),
    ),
  );
  assert.notEqual(bothEnds(line).buffer, line.buffer);
});
