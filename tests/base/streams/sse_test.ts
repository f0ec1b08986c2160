import assert from "node:assert/strict";
import {
  createSseParser,
  formatFrame,
  FrameTooLongError,
  FrameWriter,
} from "../../../src/base/streams/sse.ts";
import type { SseFrame } from "../../../src/base/frame.ts";
import { runStage } from "../../../src/base/stage.ts";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "../../../src/base/streams/media_type.ts";

Deno.test("formatFrame() writes a name, if there is one, before the data", () => {
  assert.equal(formatFrame({ event: "a", data: "1" }), "event: a\ndata: 1\n\n");
  assert.equal(formatFrame({ data: "1" }), "data: 1\n\n");
  assert.equal(formatFrame({ event: "", data: "1" }), "data: 1\n\n");
});

Deno.test("FrameWriter writes the right name for each frame, whatever the previous name was", () => {
  const frames = [undefined, "a", "a", "b", "", "b", undefined, undefined]
    .map((event) => ({ event, data: "1" }));
  const writer = new FrameWriter();
  frames.forEach(writer.write);
  assert.equal(writer.take(), frames.map(formatFrame).join(""));
  assert.equal(writer.take(), "");
});

Deno.test("FrameWriter escapes every character that some reader takes for a line end", () => {
  // The line ends of Python's str.splitlines(), with which some clients split a stream.
  const ends = [..."\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"];
  const value = { a: ends.map((end, at) => `${at}${end}`).join("") };
  const writer = new FrameWriter();
  writer.write({ comment: "hi" });
  writer.write({ data: JSON.stringify(value) });
  const [, line = "", ...rest] = writer.take().split("\n\n");
  assert.deepEqual(rest, [""]);
  assert.ok(!ends.some((end) => line.includes(end)));
  assert.deepEqual(JSON.parse(line.slice("data: ".length)), value);
});

Deno.test("FrameWriter writes a comment as a line that readers skip", () => {
  const writer = new FrameWriter();
  writer.write({ comment: "hi" });
  assert.equal(writer.take(), ": hi\n\n");
});

function parse(text: string, size = text.length * 4 || 1): SseFrame[] {
  const bytes = new TextEncoder().encode(text);
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    chunks.push(bytes.subarray(from, from + size));
  }
  return runStage(createSseParser({ maxFrameCharacters: 1000 }), chunks)
    .map(({ event, data }) => event === undefined ? { data } : { event, data });
}

Deno.test("the SSE parser reads frames", async (t) => {
  const texts: Record<string, [text: string, frames: SseFrame[]]> = {
    "with and without a name": [
      "event: a\ndata: 1\n\ndata: 2\n\n",
      [{ event: "a", data: "1" }, { data: "2" }],
    ],
    "of several data lines": ["data: 1\ndata: 2\n\n", [{ data: "1\n2" }]],
    "with CRLF and CR": [
      "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n",
      [{ data: "1" }, { data: "2" }, { data: "3" }],
    ],
    "between comments": [": hello\n\ndata: 1\n\n:\n\n", [{ data: "1" }]],
    "behind a byte order mark": ["\uFEFFdata: 1\n\n", [{ data: "1" }]],
    "with characters of several bytes": [
      "data: Grüße 👋\n\n",
      [{ data: "Grüße 👋" }],
    ],
    "whose last has no blank line": [
      "data: 1\n\ndata: 2",
      [{ data: "1" }, { data: "2" }],
    ],
    "without a space behind the colon": ["data:1\n\n", [{ data: "1" }]],
    "and skips fields it does not know": [
      "id: 7\nretry: x\nfoo: bar\ndata: 1\n\n",
      [{ data: "1" }],
    ],
    "of nothing": ["", []],
  };
  for (const [name, [text, frames]] of Object.entries(texts)) {
    await t.step(name, () => assert.deepEqual(parse(text), frames));
    await t.step(
      `${name}, byte by byte`,
      () => assert.deepEqual(parse(text, 1), frames),
    );
  }
});

Deno.test("the SSE parser replaces bytes that are not UTF-8", () => {
  const before = new TextEncoder().encode("data: ");
  const bytes = Uint8Array.of(...before, 0xff, 10, 10);
  const frames = runStage(createSseParser({ maxFrameCharacters: 10 }), [bytes]);
  assert.equal(frames[0]?.data, "\uFFFD");
});

Deno.test("the SSE parser fails at a frame over its limit, and at any later input", () => {
  const parser = createSseParser({ maxFrameCharacters: 10 });
  const push = (text: string) =>
    parser.push(new TextEncoder().encode(text), () => {});
  push("data: 1234");
  assert.throws(() => push("567890123"), FrameTooLongError);
  assert.throws(() => push("\n\n"), FrameTooLongError);
  assert.throws(() => parser.end(() => {}), FrameTooLongError);
});

Deno.test("the SSE parser keeps no bytes of a line that cannot be a field", () => {
  const parser = createSseParser({ maxFrameCharacters: 10 });
  const frames: SseFrame[] = [];
  const push = (text: string) =>
    parser.push(new TextEncoder().encode(text), (frame) => frames.push(frame));
  for (let count = 0; count < 100; count++) push("nonsense without end");
  push("\ndata: 1\n\n");
  assert.equal(frames[0]?.data, "1");
});

Deno.test("the SSE parser fails at a frame of too many lines, but accepts any number between frames", () => {
  const lines = "data: 1\n".repeat(1000);
  const endless = createSseParser({ maxFrameCharacters: 1 << 24 });
  const push = (parser: ReturnType<typeof createSseParser>, text: string) => {
    const frames: SseFrame[] = [];
    parser.push(new TextEncoder().encode(text), (frame) => frames.push(frame));
    return frames;
  };
  assert.throws(() => {
    for (let count = 0; count < 100; count++) push(endless, lines);
  }, FrameTooLongError);
  for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
    const parser = createSseParser({ maxFrameCharacters: 1 << 24 });
    for (let count = 0; count < 100; count++) {
      assert.equal(push(parser, lines + end).length, 1);
      assert.equal(push(parser, ":\n".repeat(1000) + end).length, 0);
    }
  }
});

Deno.test("isEventStream() accepts any spelling of the media type", () => {
  const events = "text/event-stream";
  const spellings = [
    " Text/Event-Stream; charset=utf-8",
    `${events}, ${events}`,
  ];
  for (const type of [events, ...spellings]) {
    assert.ok(isEventStream(type), type);
  }
  const others = ["", "application/json", `application/json; as=${events}`];
  for (const type of [...others, `${events}s`]) {
    assert.ok(!isEventStream(type), type);
  }
});

Deno.test("JSON is recognized by its media type, with any prefix", () => {
  const types = ["application/json", "Application/Problem+JSON"];
  for (const type of [...types, "text/json; charset=utf-8"]) {
    assert.ok(isJson(type), type);
  }
  for (const type of ["", "text/plain", "text/event-stream"]) {
    assert.ok(!isJson(type), type);
  }
});

Deno.test("the first byte after white space decides whether a body is JSON or an event stream", () => {
  const starts:
    readonly (readonly [start: string, kind: string | undefined])[] = [
      ["{", "json"],
      ['\n [{"a":1}]', "json"],
      ["\ufeff{", "json"],
      ["d", "events"],
      ["data: {", "events"],
      ["\ufeffdata:", "events"],
      ["\r\n\nevent: a", "events"],
      ["id: 1\nevent:error", "events"],
      ["retry: 5", "events"],
      [": waiting", "events"],
      ["", undefined],
      [" \r\n", undefined],
      ["\ufeff", undefined],
      ["<html>", "other"],
      ["database is down", "other"],
      ["internal error", "other"],
      ['"text"', "other"],
    ];
  for (const [start, kind] of starts) {
    const bytes = new TextEncoder().encode(start);
    assert.equal(bodyKind(bytes), kind, JSON.stringify(start));
  }
});
