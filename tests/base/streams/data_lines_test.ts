import assert from "node:assert/strict";
import { DataLines } from "../../../src/base/streams/data_lines.ts";
import { createRandom, type Random } from "../../support/fakes/random.ts";
import {
  hasRecordings,
  loadRecordings,
} from "../../support/recorded/recordings.ts";
import { testNeeding } from "../../support/ignored.ts";

const encoder = new TextEncoder();
const MAX_LINE_BYTES = 5000;

interface Seen {
  readonly lines: readonly string[];
  readonly last: readonly string[];
  readonly unfinished: string;
}

/** Returns the lines that DataLines finds in a stream of these chunks. */
function read(
  chunks: readonly Uint8Array[],
  wantsEvery: (linesSoFar: number) => boolean = () => true,
): Seen {
  const lines: string[] = [];
  const reader = new DataLines('"usage"', {
    wantsEvery: () => wantsEvery(lines.length),
    line: (data) => lines.push(data),
  }, { maxLineBytes: MAX_LINE_BYTES });
  for (const chunk of chunks) {
    const lent = chunk.slice();
    reader.push(lent);
    lent.fill(0);
  }
  return { lines, last: reader.last(), unfinished: reader.unfinished() };
}

function readText(text: string, wantsEvery?: () => boolean): Seen {
  return read([encoder.encode(text)], wantsEvery);
}

/** The bytes in pieces of 0 to `most` bytes. */
function cut(bytes: Uint8Array, random: Random, most: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = start + random.below(most + 1);
    chunks.push(bytes.subarray(start, end));
    start = end;
  }
  return chunks;
}

Deno.test("DataLines returns the value of every data line, beside any other lines", () => {
  const { lines } = readText(
    ': comment\n\nevent: x\nid: 1\ndata: {"a":1}\n\ndata:{"b":2}\ndata:   c  \n\nretry: 5\nxdata: no\n',
  );
  assert.deepEqual(lines, ['{"a":1}', '{"b":2}', "c"]);
});

Deno.test("DataLines reads lines that end in CRLF", () => {
  const { lines, last } = readText("data: a\r\n\r\ndata: b\r\n\r\n");
  assert.deepEqual(lines, ["a", "b"]);
  assert.deepEqual(last, ["b", "a"]);
});

Deno.test("DataLines reads lines with every line end of the standard", () => {
  const ends = ["\n", "\r\n", "\r"];
  for (const [at, end] of ends.entries()) {
    const other = ends[(at + 1) % ends.length];
    const text = `data: a${end}${end}data: b${other}${end}data: c${end}`;
    const bytes = encoder.encode(text);
    for (let cutAt = 0; cutAt <= bytes.length; cutAt++) {
      const chunks = [bytes.subarray(0, cutAt), bytes.subarray(cutAt)];
      const { lines, last, unfinished } = read(chunks);
      assert.deepEqual(lines, ["a", "b", "c"]);
      assert.deepEqual(last, ["c", "b", "a"]);
      assert.equal(unfinished, "");
    }
  }
});

Deno.test("DataLines finds a needle in lines that end in CR", () => {
  const text = 'data: a\r\rdata: {"usage":1}\r\rdata: b\r\r';
  const { lines, last } = readText(text, () => false);
  assert.deepEqual(lines, ['{"usage":1}']);
  assert.deepEqual(last, ["b", '{"usage":1}', "a"]);
});

Deno.test("DataLines skips a byte order mark only at the very beginning", () => {
  const bytes = encoder.encode("\uFEFFdata: a\n\uFEFFdata: b\ndata: c\n");
  for (const wantsEvery of [true, false]) {
    for (let at = 0; at <= bytes.length; at++) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      const { lines, last } = read(chunks, () => wantsEvery);
      assert.deepEqual(lines, wantsEvery ? ["a", "c"] : []);
      assert.deepEqual(last, ["c", "a"]);
    }
  }
  assert.equal(readText("\uFEFFdata: a").unfinished, "a");
  assert.equal(readText("\uFEFF\uFEFFdata: a").unfinished, "");
  assert.equal(readText("data: a\n\uFEFFdata: b").unfinished, "");
});

Deno.test("DataLines returns only lines with the needle once wantsEvery() returns false", () => {
  const text = 'data: a\ndata: {"usage":1}\ndata: usage\ndata: \\"usage\\"\n';
  const { lines, last } = readText(text, () => false);
  assert.deepEqual(lines, ['{"usage":1}']);
  assert.deepEqual(last, ['\\"usage\\"', "usage", '{"usage":1}', "a"]);
});

Deno.test("DataLines calls wantsEvery() for each line", () => {
  const chunk = encoder.encode('data: a\ndata: b\ndata: c\ndata: "usage"\n');
  const { lines } = read([chunk], (linesSoFar) => linesSoFar < 2);
  assert.deepEqual(lines, ["a", "b", '"usage"']);
});

Deno.test("DataLines finds a needle that is split between two chunks", () => {
  const bytes = encoder.encode('data: {"usage":1}\n');
  for (let at = 0; at <= bytes.length; at++) {
    const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
    assert.deepEqual(read(chunks, () => false).lines, ['{"usage":1}']);
  }
});

Deno.test("DataLines keeps the last four lines that are not empty", () => {
  assert.deepEqual(readText("").last, []);
  assert.deepEqual(readText("data: a\n").last, ["a"]);
  assert.deepEqual(
    readText("data: 1\ndata: 2\ndata: \r\ndata:\ndata: 3\n").last,
    ["3", "2", "1"],
  );
  const many = "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n";
  assert.deepEqual(readText(many).last, ["5", "4", "3", "2"]);
});

Deno.test("DataLines returns a line without its line feed as unfinished", () => {
  const { lines, last, unfinished } = readText("data: a\ndata: b");
  assert.deepEqual(lines, ["a"]);
  assert.deepEqual(last, ["a"]);
  assert.equal(unfinished, "b");
  assert.equal(readText("data: a\nevent: b").unfinished, "");
  assert.equal(readText("data: a\n").unfinished, "");
});

Deno.test("DataLines skips a line that is too long, but keeps the line's two ends", () => {
  const begin = '{"type":"a",';
  const end = '"usage":{}}';
  const long = begin + "x".repeat(MAX_LINE_BYTES) + end;
  const bytes = encoder.encode(`data: a\ndata: ${long}\ndata: b\n`);
  for (const most of [7, 600, 2 * MAX_LINE_BYTES]) {
    const chunks = cut(bytes, createRandom(most), most);
    const { lines, last: [last, beforeLast = ""] } = read(chunks);
    assert.deepEqual(lines, ["a", "b"]);
    assert.equal(last, "b");
    assert.ok(beforeLast.startsWith(begin) && beforeLast.endsWith(end));
    assert.ok(beforeLast.length <= 1024);
  }
});

Deno.test("DataLines returns a line of exactly the maximum length", () => {
  const fit = "x".repeat(MAX_LINE_BYTES - "data: ".length);
  for (const most of [100, 2 * MAX_LINE_BYTES]) {
    const bytes = encoder.encode(`data: ${fit}\ndata: ${fit}y\n`);
    const { lines } = read(cut(bytes, createRandom(1), most));
    assert.deepEqual(lines, [fit]);
  }
});

/** A simple model of DataLines: it splits the whole text. */
function readWhole(bytes: Uint8Array, wantsEvery: boolean): Seen {
  const texts = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  const rest = texts.pop() ?? "";
  const data = texts.filter((line) => line.startsWith("data:"));
  const value = (line: string) => line.slice("data:".length).trim();
  const lines = data
    .filter((line) => encoder.encode(line).length <= MAX_LINE_BYTES)
    .filter((line) =>
      wantsEvery || line.includes('"usage"') ||
      encoder.encode(line).length > 1024
    ).map(value);
  return {
    lines,
    last: data.map(value).filter((line) => line !== "").toReversed()
      .slice(0, 4),
    unfinished: rest.startsWith("data:") ? value(rest) : "",
  };
}

/** Only the ends of long values are kept, and a character may be cut there. */
function ends(value: string): string {
  return value.length <= 300 ? value : value.slice(0, 150) + value.slice(-150);
}

function assertSame(seen: Seen, expected: Seen): void {
  assert.deepEqual(seen.lines, expected.lines);
  assert.deepEqual(seen.last.map(ends), expected.last.map(ends));
  assert.equal(ends(seen.unfinished), ends(expected.unfinished));
}

const PARTS = [
  "data: ",
  "data:",
  "dat",
  ": ping",
  "event: message_stop",
  "\n",
  "\n\n",
  "\r\n",
  "\r",
  '{"usage":{"input_tokens":1}}',
  '"usage',
  '{"type":"é…🌻"}',
  "[DONE]",
  " ",
  "x".repeat(900),
  "ü".repeat(2600),
];

Deno.test("DataLines returns the same lines for any division into chunks", () => {
  const random = createRandom(7);
  for (let round = 0; round < 100; round++) {
    const parts = Array.from(
      { length: random.below(20) },
      () => random.pick(PARTS),
    );
    const mark = random.pick(["", "\uFEFF"]);
    const bytes = encoder.encode(mark + parts.join(""));
    for (const wantsEvery of [true, false]) {
      const expected = readWhole(bytes, wantsEvery);
      for (const most of [1, 10, 1500, bytes.length]) {
        const seen = read(cut(bytes, random, most), () => wantsEvery);
        assertSame(seen, expected);
      }
    }
  }
});

testNeeding(
  "DataLines returns the same lines for any division of a recorded stream",
  !hasRecordings() && "there are no recordings here",
  () => {
    const random = createRandom(11);
    const folders = ["chat", "messages", "responses", "errors"];
    for (const { stream } of folders.flatMap(loadRecordings)) {
      if (stream === undefined) continue;
      const expected = readWhole(stream, true);
      assertSame(read([stream]), expected);
      assertSame(read(cut(stream, random, 200)), expected);
    }
  },
);

/** Returns the sum of the bytes beyond 20 in each data line of these chunks. */
function above(chunks: readonly Uint8Array[]): number {
  const reader = new DataLines('"usage"', {
    wantsEvery: () => false,
    line: () => {},
  });
  reader.push(encoder.encode(`data: ${"x".repeat(90)}\n\n`));
  reader.measureAbove(20);
  for (const chunk of chunks) reader.push(chunk);
  return reader.bytesAbove();
}

Deno.test("DataLines sums the bytes by which data lines exceed a length, for any division into chunks", () => {
  const random = createRandom(3);
  const lengths = [20, 25, 10, 40, 30, 20, 21, 7, 90, 33, 1200];
  const expected = lengths.reduce(
    (sum, length) => sum + Math.max(0, length - 20),
    0,
  );
  for (const lineEnd of ["\n", "\r\n", "\r"]) {
    const lines = lengths.flatMap((length) => [
      `data: ${"x".repeat(length - 6)}`,
      "",
      `: ${"a comment ".repeat(5)}`,
      `data:${" ".repeat(50)}`,
    ]);
    const bytes = encoder.encode(lines.join(lineEnd) + lineEnd);
    assert.equal(above([bytes]), expected);
    assert.equal(
      above(Array.from(bytes, (byte) => Uint8Array.of(byte))),
      expected,
    );
    for (let count = 0; count < 20; count++) {
      assert.equal(above(cut(bytes, random, 200)), expected);
    }
  }
});
