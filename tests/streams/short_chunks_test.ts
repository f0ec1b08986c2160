import assert from "node:assert/strict";
import {
  type ByteReader,
  createLookAhead,
  readAll,
} from "../../src/streams/byte_reader.ts";

/** A reader of chunks, each filled with its own number. */
function readerOf(sizes: readonly number[]): ByteReader {
  let next = 0;
  return {
    read() {
      const size = sizes[next++];
      return Promise.resolve(
        size === undefined
          ? { done: true }
          : { done: false, value: new Uint8Array(size).fill(next) },
      );
    },
    cancel: () => Promise.resolve(),
  };
}

/** The bytes of {@linkcode readerOf}. */
function bytesOf(sizes: readonly number[]): number[] {
  return sizes.flatMap((size, at) => new Array<number>(size).fill(at + 1));
}

async function readRest(reader: ByteReader): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks;
    chunks.push(value);
  }
}

const SIZES: Readonly<Record<string, readonly number[]>> = {
  "none": [],
  "one": [5],
  "short ones": [1, 2, 3],
  "long ones": [2000, 1024],
  "short ones among long ones": [1, 2000, 1, 1, 2000, 2000, 1, 1, 1],
  "empty ones": [0, 1, 0, 0, 1, 0],
  "more than are joined": new Array<number>(40).fill(1000),
  "very many": new Array<number>(90).fill(200),
};

Deno.test("readAll() returns the bytes of chunks of any size", async () => {
  for (const [name, sizes] of Object.entries(SIZES)) {
    const bytes = await readAll(readerOf(sizes), 1e6);
    assert.deepEqual([...bytes ?? []], bytesOf(sizes), name);
  }
});

Deno.test("a look-ahead returns the seen bytes and those after them, from any start of the reading", async () => {
  for (const [name, sizes] of Object.entries(SIZES)) {
    for (let peeks = 0; peeks <= sizes.length + 1; peeks += 3) {
      const source = createLookAhead(readerOf(sizes));
      for (let count = 0; count < peeks; count++) await source.peek();
      const read = (await readRest(source)).flatMap((chunk) => [...chunk]);
      assert.deepEqual(read, bytesOf(sizes), `${name}, ${peeks} seen`);
    }
  }
});

Deno.test("short chunks that wait become one, and long ones stay as they are", async () => {
  const sizes = [1, 1, 1, 2000, 1, 1023, 1024, 5];
  const source = createLookAhead(readerOf(sizes));
  for (const size of sizes) {
    assert.equal((await source.peek()).value?.length, size);
  }
  const read = (await readRest(source)).map(({ length }) => length);
  assert.deepEqual(read, [3, 2000, 1024, 1024, 5]);
});

Deno.test("a chunk that was read stays as it is when later ones are joined", async () => {
  const source = createLookAhead(readerOf([1, 1, 1, 1]));
  await source.peek();
  await source.peek();
  const { value } = await source.read();
  await source.peek();
  await source.peek();
  assert.deepEqual([...value ?? []], [1, 2]);
  assert.deepEqual([...(await source.read()).value ?? []], [3, 4]);
});

Deno.test("a body of single bytes takes memory for its bytes, not for each chunk", async () => {
  // A chunk of its own for each takes some 400 bytes.
  const count = 250_000;
  const chunk = Uint8Array.of(120);
  let left = count;
  let peakBytes = 0;
  const before = Deno.memoryUsage().heapUsed;
  const bytes = await readAll({
    read() {
      if (left % 25_000 === 0) {
        peakBytes = Math.max(peakBytes, Deno.memoryUsage().heapUsed - before);
      }
      return Promise.resolve(
        left-- > 0 ? { done: false, value: chunk.slice() } : { done: true },
      );
    },
    cancel: () => Promise.resolve(),
  }, count);
  assert.equal(bytes?.length, count);
  assert.ok(peakBytes < 100 * count, `${peakBytes} bytes`);
});
