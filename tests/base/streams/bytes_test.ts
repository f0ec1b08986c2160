import assert from "node:assert/strict";
import {
  byteText,
  joinBytes,
  LongBytes,
  utf8InByteText,
} from "../../../src/base/streams/bytes.ts";
import { bothEnds, LineBuffer } from "../../../src/base/streams/line_buffer.ts";
import { createRandom } from "../../support/fakes/random.ts";
import {
  type ByteRead,
  type ByteReader,
  createLookAhead,
  readAll,
} from "../../../src/base/streams/byte_reader.ts";
import {
  createByteMask,
  createFinder,
  maskBytes,
  maskReads,
  prepareMaskedText,
} from "../../../src/base/streams/byte_mask.ts";

const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);

Deno.test("byteText() has one character for each byte, at the same position", () => {
  const text = byteText(every.subarray(10, 250));
  assert.equal(text.length, 240);
  for (let index = 0; index < text.length; index++) {
    assert.equal(text.charCodeAt(index), index + 10);
  }
  assert.equal(byteText(new Uint8Array()), "");
});

Deno.test("utf8InByteText() decodes ASCII and other bytes", () => {
  for (const said of ["", "[DONE]", '{"type":"é…🌻"}']) {
    const bytes = new TextEncoder().encode(said);
    assert.equal(utf8InByteText(byteText(bytes)), said);
  }
  assert.equal(utf8InByteText("a\xff"), "a\ufffd");
});

Deno.test("joinBytes() joins chunks in order, also views of larger buffers", () => {
  const memory = Uint8Array.of(1, 2, 3, 4, 5);
  const chunks = [memory.subarray(3), new Uint8Array(), memory.subarray(0, 2)];
  assert.deepEqual(joinBytes(chunks), Uint8Array.of(4, 5, 1, 2));
  assert.deepEqual(joinBytes([]), new Uint8Array());
});

Deno.test("joinBytes() returns a single chunk without a copy", () => {
  const memory = Uint8Array.of(1, 2, 3);
  const alone = joinBytes([memory.subarray(1)]);
  assert.deepEqual(alone, Uint8Array.of(2, 3));
  assert.equal(alone.buffer, memory.buffer);
});

/** Bytes whose values are their positions. */
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

Deno.test("LineBuffer copies its pieces, so that they may change", () => {
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

Deno.test("bothEnds() keeps up to 1 KiB whole, and joins the ends of longer bytes", () => {
  assert.deepEqual(bothEnds(numbered(1024)), numbered(1024));
  const line = numbered(1025);
  assert.deepEqual(
    bothEnds(line),
    Uint8Array.of(...line.subarray(0, 512), ...line.subarray(-512)),
  );
  assert.notEqual(bothEnds(line).buffer, line.buffer);
});

const BYTES = Uint8Array.from({ length: 20 }, (_, index) => index);

/** The same twenty bytes, divided in several ways. */
const CUTS: readonly (readonly number[])[] = [[], [10], [1, 2, 3, 19], [
  5,
  5,
  15,
], [0, 20]];

function cut(places: readonly number[]): LongBytes {
  const ends = [...places, BYTES.length];
  return new LongBytes(
    ends.map((end, index) => BYTES.slice(places[index - 1] ?? 0, end)),
  );
}

Deno.test("LongBytes behave the same however they are divided into arrays", () => {
  for (const places of CUTS) {
    const bytes = cut(places);
    assert.equal(bytes.length, BYTES.length);
    assert.deepEqual(bytes.join(), BYTES);
  }
});

Deno.test("a slice of LongBytes equals the slice of one array", () => {
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

Deno.test("a slice of LongBytes shares its memory", () => {
  const bytes = cut([10]);
  const memory = bytes.pieces.map(({ buffer }) => buffer);
  const slice = bytes.slice(5, 15);
  assert.deepEqual(slice.pieces.map(({ length }) => length), [5, 5]);
  slice.pieces.forEach(({ buffer }, index) =>
    assert.equal(buffer, memory[index])
  );
});

Deno.test("LongBytes without arrays are empty", () => {
  assert.deepEqual(new LongBytes([]).join(), new Uint8Array());
  assert.deepEqual(cut([10]).slice(20).pieces, []);
});

Deno.test("freed LongBytes hold no memory, and may be freed again", () => {
  const bytes = cut([5]);
  bytes.free();
  assert.ok(bytes.pieces.every(({ length }) => length === 0));
  bytes.free();
  const whole = BYTES.slice();
  new LongBytes([whole.subarray(0, 5), whole.subarray(5)]).free();
  assert.equal(whole.length, 0);
});

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

Deno.test("a look-ahead returns all bytes in order, however many were seen before the first read", async () => {
  for (const [name, sizes] of Object.entries(SIZES)) {
    for (let peeks = 0; peeks <= sizes.length + 1; peeks += 3) {
      const source = createLookAhead(readerOf(sizes));
      for (let count = 0; count < peeks; count++) await source.peek();
      const read = (await readRest(source)).flatMap((chunk) => [...chunk]);
      assert.deepEqual(read, bytesOf(sizes), `${name}, ${peeks} seen`);
    }
  }
});

Deno.test("a look-ahead joins short chunks that wait, and leaves long chunks unchanged", async () => {
  const sizes = [1, 1, 1, 2000, 1, 1023, 1024, 5];
  const source = createLookAhead(readerOf(sizes));
  for (const size of sizes) {
    assert.equal((await source.peek()).value?.length, size);
  }
  const read = (await readRest(source)).map(({ length }) => length);
  assert.deepEqual(read, [3, 2000, 1024, 1024, 5]);
});

Deno.test("a look-ahead does not change a chunk that was read when it joins later chunks", async () => {
  const source = createLookAhead(readerOf([1, 1, 1, 1]));
  await source.peek();
  await source.peek();
  const { value } = await source.read();
  await source.peek();
  await source.peek();
  assert.deepEqual([...value ?? []], [1, 2]);
  assert.deepEqual([...(await source.read()).value ?? []], [3, 4]);
});

Deno.test("a look-ahead takes memory for the bytes of a body, not for each chunk", async () => {
  // A separate chunk for each byte would take some 400 bytes.
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

const SECRET = "sk-upstream-0123456789-abcdef";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns the outputs of a mask for the given pieces. */
function masked(pieces: readonly string[], secret = SECRET): string {
  const mask = createByteMask(prepareMaskedText(secret));
  const out = pieces.map((piece) =>
    decoder.decode(mask.push(encoder.encode(piece)).value)
  );
  return out.join("") + decoder.decode(mask.end());
}

const STARS = "*".repeat(SECRET.length);

Deno.test("A ByteMask masks the secret text at every place, and nothing else", () => {
  const cases = [
    ["", ""],
    ["x", "x"],
    [SECRET, STARS],
    [`a${SECRET}b`, `a${STARS}b`],
    [`${SECRET}${SECRET}`, `${STARS}${STARS}`],
    [`sk-${SECRET}`, `sk-${STARS}`],
    ["sk-upstream-012", "sk-upstream-012"],
    ["sk-upstream-", "sk-upstream-"],
    // A beginning that identifies the text is masked, up to its last matching byte.
    ["sk-upstream-01234X", `${"*".repeat(17)}X`],
  ] as const;
  for (const [text, expected] of cases) {
    assert.equal(masked([text]), expected, text);
  }
});

Deno.test("A ByteMask masks the secret text across chunks, except for at most three letters", () => {
  const text = `{"message":"the key ${SECRET} is wrong"}`;
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second += 5) {
      const out = masked([
        text.slice(0, first),
        text.slice(first, second),
        text.slice(second),
      ]);
      assert.equal(out.length, text.length);
      assert.ok(!out.includes(SECRET.slice(4, 12)), out);
      assert.ok(out.startsWith('{"message":"the key '), out);
      assert.ok(out.endsWith(' is wrong"}'), out);
    }
  }
});

Deno.test("A ByteMask forwards every other text unchanged, also in chunks of one byte", () => {
  const text = "sk-up sk-upstream-01 sk-upstream-sk-upstream-012! é😀 sk-upst";
  assert.equal(masked([text]), text);
  const mask = createByteMask(prepareMaskedText(SECRET));
  const out: number[] = [];
  for (const byte of encoder.encode(text)) {
    out.push(...mask.push(Uint8Array.of(byte)).value);
  }
  out.push(...mask.end());
  assert.equal(decoder.decode(Uint8Array.from(out)), text);
});

Deno.test("A ByteMask holds back only bytes that could begin the secret text", () => {
  const mask = createByteMask(prepareMaskedText(SECRET));
  for (const chunk of ["data: x\n\n", "s", "k-", "plain", "a sk-"]) {
    const { value } = mask.push(encoder.encode(chunk));
    assert.equal(decoder.decode(value), chunk);
  }
});

Deno.test("A ByteMask returns the decoded text of a chunk only if the chunk is unchanged", () => {
  const mask = createByteMask(prepareMaskedText(SECRET));
  const textOf = (chunk: string) => mask.push(encoder.encode(chunk)).text;
  assert.equal(textOf("data: x"), "data: x");
  assert.equal(textOf(`data: ${SECRET} x`), undefined);
  assert.equal(textOf("a sk-upst"), undefined);
  assert.equal(textOf("ride"), undefined);
  assert.equal(textOf(SECRET.slice(0, 20)), undefined);
  assert.equal(textOf(`${SECRET.slice(20)} x`), undefined);
  assert.equal(textOf("data: x"), "data: x");
});

Deno.test("maskBytes() masks complete bytes as a ByteMask masks chunks", () => {
  const beginning = SECRET.slice(0, 20);
  const texts = [
    "",
    "plain",
    `${SECRET} sk-upstr`,
    `a${SECRET}${SECRET}b${beginning}c${beginning}`,
    `${SECRET.slice(0, 8)}${SECRET}`,
  ];
  for (const text of texts) {
    const bytes = encoder.encode(text);
    maskBytes(bytes, prepareMaskedText(SECRET));
    assert.equal(decoder.decode(bytes), masked([text]));
  }
});

function readerOfTexts(chunks: readonly string[]) {
  const bytes = chunks.map((one) => encoder.encode(one));
  return ReadableStream.from(bytes).getReader();
}

Deno.test("maskReads() returns a read for every chunk, even for a held or empty one", async () => {
  const chunks = ["a ", "", "sk-up", "stream-01", "23456789-abcdef", " sk-ups"];
  const source = ReadableStream.from(chunks.map((one) => encoder.encode(one)));
  const reader = source.getReader();
  const mask = maskReads(createByteMask(prepareMaskedText(SECRET)));
  let out = "";
  let heard = 0;
  for (;;) {
    const { done, value } = mask(await reader.read());
    if (done) break;
    heard++;
    out += decoder.decode(value);
  }
  assert.ok(heard >= chunks.length);
  assert.equal(out, `a ${STARS} sk-ups`);
  assert.deepEqual(mask(await reader.read()), { done: true });
});

Deno.test("maskReads() masks several texts, one mask after another", async () => {
  const chunks = [`a ${SECRET} b`, "other-key-01", `other-key-0123 ${SECRET}`];
  const reader = readerOfTexts(chunks);
  const masks = [SECRET, "other-key-0123", "third-key-4567"]
    .map((secret) => maskReads(createByteMask(prepareMaskedText(secret))));
  let out = "";
  for (;;) {
    const { done, value, text } = masks.reduce<ByteRead>(
      (read, mask) => mask(read),
      await reader.read(),
    );
    if (done) break;
    out += decoder.decode(value);
    if (text !== undefined) assert.equal(text, decoder.decode(value));
  }
  const stars = "*".repeat("other-key-0123".length);
  assert.equal(out, `a ${STARS} bother-key-01${stars} ${STARS}`);
});

Deno.test("createFinder() finds the text at the beginning, in the middle and at the end", () => {
  const key = "sk-proj-0123456789";
  const find = createFinder(key);
  for (const text of [key, `${key}.`, `{"${key}"}`, `the key ${key}`]) {
    assert.equal(find(text, 0), text.indexOf(key), text);
  }
});

Deno.test("createFinder() finds nothing in a text with none or only the beginning of the wanted text", () => {
  const find = createFinder("sk-proj-0123");
  for (const text of ["", "s", "sk-proj-012", "k-proj-0123", "sk-proj-0124"]) {
    assert.equal(find(text, 0), -1, text);
  }
});

Deno.test("createFinder() finds the same as indexOf in texts with repetitions", () => {
  const random = createRandom(1);
  const word = (length: number) =>
    Array.from({ length }, () => random.pick(["a", "b", "K"])).join("");
  for (let round = 0; round < 3000; round++) {
    const wanted = word(1 + random.below(9));
    const text = word(random.below(30));
    const from = random.below(text.length + 2);
    assert.equal(
      createFinder(wanted)(text, from),
      text.indexOf(wanted, from),
      `${wanted} in ${text} from ${from}`,
    );
  }
});
