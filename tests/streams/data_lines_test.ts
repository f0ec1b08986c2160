import assert from "node:assert/strict";
import { createDataLines } from "../../src/streams/data_lines.ts";

/** What is read of a text that comes in pieces of a size. */
function read(
  text: string,
  { size = text.length, wantsEvery = false } = {},
): { readonly lines: readonly string[]; readonly last: readonly string[] } {
  const lines: string[] = [];
  const reader = createDataLines("usage", {
    wantsEvery: () => wantsEvery,
    line: (data) => lines.push(data),
  });
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) {
    reader.push(bytes.subarray(start, start + size));
  }
  reader.end();
  return { lines, last: reader.lastLines() };
}

Deno.test("createDataLines() gives the lines that hold the needle, however they are cut", () => {
  const text =
    "event: usage\ndata: one\r\n\r\ndata:usage ü🙂\n\n: usage\ndata: no usag\ndata: the usage";
  for (let size = 1; size <= text.length; size++) {
    assert.deepEqual(read(text, { size }).lines, ["usage ü🙂", "the usage"]);
  }
});

Deno.test("createDataLines() gives every data line while every one is wanted", () => {
  const { lines } = read("data: a\nid: b\ndata: c\n", { wantsEvery: true });
  assert.deepEqual(lines, ["a", "c"]);
});

Deno.test("createDataLines() knows the last two data lines, the last with or without its line feed", () => {
  const text = "data: a\n\ndata: b\n\nevent: x\ndata: c";
  for (let size = 1; size <= text.length; size++) {
    assert.deepEqual(read(text, { size }).last, ["b", "c"]);
    assert.deepEqual(read(`${text}\n\n`, { size }).last, ["b", "c"]);
  }
  assert.deepEqual(read("data: a\ndata:\n").last, ["a"]);
  assert.deepEqual(read(": nothing\n").last, []);
});

Deno.test("createDataLines() keeps the beginning and the end of a long last line", () => {
  for (const length of [2_000, 3 * 1024 * 1024]) {
    const long = `data: <begin>${"x".repeat(length)}<end>\n`;
    const { last } = read(`data: usage\n${long}`, { size: 65_536 });
    assert.equal(last.length, 2);
    assert.match(last[1] ?? "", /^<begin>x+\nx+<end>$/);
    assert.ok((last[1] ?? "").length < 1_100);
  }
});

Deno.test("createDataLines() reads on behind a line that is too long", () => {
  const { lines } = read(
    `data: ${"x".repeat(3 * 1024 * 1024)}\ndata: usage\n`,
    { size: 65_536 },
  );
  assert.deepEqual(lines, ["usage"]);
});
