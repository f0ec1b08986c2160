import assert from "node:assert/strict";
import {
  createByteMask,
  createFinder,
  maskBytes,
  maskReader,
  prepareMaskedText,
} from "../../src/streams/byte_mask.ts";
import { createRandom } from "../support/fakes/random.ts";

const SECRET = "sk-upstream-0123456789-abcdef";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What comes out of a text that comes in the given pieces. */
function masked(pieces: readonly string[], secret = SECRET): string {
  const mask = createByteMask(prepareMaskedText(secret));
  const out = pieces.map((piece) =>
    decoder.decode(mask.push(encoder.encode(piece)).value)
  );
  return out.join("") + decoder.decode(mask.end());
}

const STARS = "*".repeat(SECRET.length);

Deno.test("A ByteMask masks the text at every place, and nothing else", () => {
  const cases = [
    ["", ""],
    ["x", "x"],
    [SECRET, STARS],
    [`a${SECRET}b`, `a${STARS}b`],
    [`${SECRET}${SECRET}`, `${STARS}${STARS}`],
    [`sk-${SECRET}`, `sk-${STARS}`],
    ["sk-upstream-012", "sk-upstream-012"],
    ["sk-upstream-", "sk-upstream-"],
    // A beginning that gives it away is covered, as far as it goes.
    ["sk-upstream-01234X", `${"*".repeat(17)}X`],
  ] as const;
  for (const [text, expected] of cases) {
    assert.equal(masked([text]), expected, text);
  }
});

Deno.test("A ByteMask covers the text across chunks, but for three letters at most", () => {
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

Deno.test("A ByteMask lets every other text through, in chunks of one byte too", () => {
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

Deno.test("A ByteMask holds nothing back that could not begin the text", () => {
  const mask = createByteMask(prepareMaskedText(SECRET));
  for (const chunk of ["data: x\n\n", "s", "k-", "plain", "a sk-"]) {
    const { value } = mask.push(encoder.encode(chunk));
    assert.equal(decoder.decode(value), chunk);
  }
});

Deno.test("A ByteMask returns the text of a chunk that passes unchanged, and of no other", () => {
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

Deno.test("maskBytes() masks complete bytes like a ByteMask masks chunks", () => {
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

Deno.test("maskReader() reads to the end, and lets every chunk be heard, one that waits and an empty one too", async () => {
  const chunks = [
    "a ",
    "",
    "sk-up",
    "stream-01",
    "23456789-abcdef",
    " sk-ups",
  ];
  const source = ReadableStream.from(chunks.map((one) => encoder.encode(one)));
  const reader = maskReader(
    source.getReader(),
    createByteMask(prepareMaskedText(SECRET)),
  );
  let out = "";
  let heard = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    heard++;
    out += decoder.decode(value);
  }
  assert.ok(heard >= chunks.length);
  assert.equal(out, `a ${STARS} sk-ups`);
  assert.deepEqual(await reader.read(), { done: true });
});

Deno.test("maskReader() masks each of several texts in chunks that one mask has read", async () => {
  const chunks = [`a ${SECRET} b`, "other-key-01", `other-key-0123 ${SECRET}`];
  const source = ReadableStream.from(chunks.map((one) => encoder.encode(one)));
  const reader = [SECRET, "other-key-0123", "third-key-4567"]
    .map((secret) => createByteMask(prepareMaskedText(secret)))
    .reduce(maskReader, source.getReader());
  let out = "";
  for (;;) {
    const { done, value, text } = await reader.read();
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

Deno.test("createFinder() finds nothing in what lacks the text or ends within it", () => {
  const find = createFinder("sk-proj-0123");
  for (const text of ["", "s", "sk-proj-012", "k-proj-0123", "sk-proj-0124"]) {
    assert.equal(find(text, 0), -1, text);
  }
});

Deno.test("createFinder() finds the same as indexOf, with any repetitions", () => {
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
