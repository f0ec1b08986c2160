import assert from "node:assert/strict";
import { gzipSync, zstdCompressSync } from "node:zlib";
import {
  readTextLines,
  unpack,
} from "../../../src/gateway/observe/read_log.ts";
import { inPieces } from "../../support/wire/pieces.ts";
import { steps } from "../../support/steps.ts";

/** Reads a text in pieces of this size, and returns the lines. */
async function linesOf(
  text: string | Uint8Array,
  { size, maxLength = 1000 }: {
    readonly size: number;
    readonly maxLength?: number;
  },
) {
  const lines: string[] = [];
  let long = 0;
  await readTextLines(inPieces(text, size), {
    maxLength,
    onLine: (line) => void lines.push(line),
    onLongLine: () => void long++,
  });
  return { lines, long };
}

const SIZES = [1, 2, 3, 7, 64, 100_000];

Deno.test("readTextLines() returns every line, whatever the chunk size", async () => {
  const text = "one\n\nzwei 🌻 é\r\n\u2028drei\nlast";
  for (const size of SIZES) {
    const { lines } = await linesOf(text, { size });
    const all = ["one", "", "zwei 🌻 é\r", "\u2028drei", "last"];
    assert.deepEqual(lines, all);
    const ended = await linesOf(`${text}\n`, { size });
    assert.equal(ended.lines.length, 5);
  }
});

Deno.test("readTextLines() returns no line for an empty text", async () => {
  assert.deepEqual(await linesOf("", { size: 1 }), { lines: [], long: 0 });
});

Deno.test("readTextLines() skips lines that are too long and reports each once", async () => {
  const fits = "x".repeat(50);
  const tooLong = "y".repeat(51);
  const endless = "z".repeat(5000);
  const text = [fits, tooLong, "a", endless, "b", "", endless].join("\n");
  for (const size of SIZES) {
    const found = await linesOf(text, { size, maxLength: 50 });
    assert.deepEqual(found, { lines: [fits, "a", "b", ""], long: 3 });
  }
});

Deno.test("readTextLines() continues after bytes that are not UTF-8", async () => {
  const bytes = Uint8Array.of(0xff, 0xc3, 10, 97, 10, 0xf0, 0x9f);
  for (const size of SIZES) {
    const { lines } = await linesOf(bytes, { size });
    assert.deepEqual(lines, ["\ufffd\ufffd", "a", "\ufffd"]);
  }
});

Deno.test("readTextLines() rejects with the error of its bytes", async () => {
  async function* breaking() {
    yield await Promise.resolve(new TextEncoder().encode("a\nb"));
    throw new Error("the disk is gone");
  }
  const lines: string[] = [];
  const reading = readTextLines(breaking(), {
    maxLength: 10,
    onLine: (line) => void lines.push(line),
    onLongLine: () => assert.fail(),
  });
  await assert.rejects(reading, /the disk is gone/);
  assert.deepEqual(lines, ["a"]);
});

/** Unpacks a file in pieces of this size. */
async function unpacked(bytes: Uint8Array, size: number): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of unpack(inPieces(bytes, size))) {
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

const TEXT = "a line of a log\n".repeat(20_000);
const PLAIN = new TextEncoder().encode(TEXT);

/** The forms of a file, and its content. */
const FILES: Readonly<Record<string, readonly [Uint8Array, string]>> = {
  "as it is": [PLAIN, TEXT],
  "by gzip": [gzipSync(PLAIN), TEXT],
  "by zstd": [zstdCompressSync(PLAIN), TEXT],
  "by gzip, in two members": [
    new Uint8Array([...gzipSync(PLAIN), ...gzipSync(PLAIN)]),
    TEXT + TEXT,
  ],
  "empty": [new Uint8Array(), ""],
  "three bytes that begin like zstd": [
    Uint8Array.of(0x28, 0xb5, 0x2f),
    new TextDecoder().decode(Uint8Array.of(0x28, 0xb5, 0x2f)),
  ],
};

Deno.test("unpack() returns the original bytes of a compressed file", (t) =>
  steps(t, Object.entries(FILES), async ([, [bytes, text]]) => {
    for (const size of [1, 3, 4, 1000, 1e9]) {
      // A large file byte by byte would take long and test nothing more.
      if (bytes.length > 100_000 && size < 1000) continue;
      assert.ok(await unpacked(bytes, size) === text, `${size}`);
    }
  }));

Deno.test("unpack() reports damaged or incomplete compressed bytes", async (t) => {
  const packed = gzipSync(PLAIN);
  const damaged = packed.slice();
  damaged.fill(0xff, 20, 40);
  const cut = packed.subarray(0, -5);
  const cutZstd = zstdCompressSync(PLAIN).subarray(0, -5);
  const files = Object.entries({ damaged, cut, cutZstd });
  await steps(t, files, async ([, bytes]) => {
    await assert.rejects(unpacked(bytes, 1000), Error);
  });
});

Deno.test("unpack() closes a file that is not read to its end", async (t) => {
  const files = Object.entries({ packed: gzipSync(PLAIN), plain: PLAIN });
  await steps(t, files, async ([, bytes]) => {
    let isLeft = false;
    async function* endless() {
      try {
        for (;;) yield await Promise.resolve(bytes);
      } finally {
        isLeft = true;
      }
    }
    for await (const piece of unpack(endless())) {
      assert.ok(piece.length > 0);
      break;
    }
    assert.ok(isLeft);
  });
});
