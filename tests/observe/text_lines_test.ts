import assert from "node:assert/strict";
import { readTextLines } from "../../src/observe/read_log.ts";
import { inPieces } from "../support/wire/pieces.ts";

/** What is read of a text that comes in pieces of this size. */
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

Deno.test("readTextLines() returns every line of bytes in any chunks", async () => {
  const text = "one\n\nzwei 🌻 é\r\n\u2028drei\nlast";
  for (const size of SIZES) {
    assert.deepEqual((await linesOf(text, { size })).lines, [
      "one",
      "",
      "zwei 🌻 é\r",
      "\u2028drei",
      "last",
    ]);
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
    assert.deepEqual(await linesOf(text, { size, maxLength: 50 }), {
      lines: [fits, "a", "b", ""],
      long: 3,
    });
  }
});

Deno.test("readTextLines() continues after bytes that are not UTF-8", async () => {
  const bytes = Uint8Array.of(0xff, 0xc3, 10, 97, 10, 0xf0, 0x9f);
  for (const size of SIZES) {
    assert.deepEqual((await linesOf(bytes, { size })).lines, [
      "\ufffd\ufffd",
      "a",
      "\ufffd",
    ]);
  }
});

Deno.test("readTextLines() forwards the error of its bytes", async () => {
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
