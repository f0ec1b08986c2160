import assert from "node:assert/strict";
import type { SseFrame } from "../../src/core/frame.ts";
import { runStage } from "../../src/core/stage.ts";
import { createSseParser, FrameTooLongError } from "../../src/streams/sse.ts";

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
    "with and without a name": ["event: a\ndata: 1\n\ndata: 2\n\n", [
      { event: "a", data: "1" },
      { data: "2" },
    ]],
    "of several data lines": ["data: 1\ndata: 2\n\n", [{ data: "1\n2" }]],
    "with CRLF and CR": ["data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", [
      { data: "1" },
      { data: "2" },
      { data: "3" },
    ]],
    "between comments": [": hello\n\ndata: 1\n\n:\n\n", [{ data: "1" }]],
    "behind a byte order mark": ["\uFEFFdata: 1\n\n", [{ data: "1" }]],
    "with characters of several bytes": ["data: Grüße 👋\n\n", [{
      data: "Grüße 👋",
    }]],
    "whose last has no blank line": ["data: 1\n\ndata: 2", [{ data: "1" }, {
      data: "2",
    }]],
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

Deno.test("the SSE parser makes replacement characters of bytes that are no UTF-8", () => {
  const bytes = Uint8Array.of(
    ...new TextEncoder().encode("data: "),
    0xff,
    10,
    10,
  );
  const frames = runStage(createSseParser({ maxFrameCharacters: 10 }), [bytes]);
  assert.equal(frames[0]?.data, "\uFFFD");
});

Deno.test("the SSE parser fails at a frame past its limit, and stays failed", () => {
  const parser = createSseParser({ maxFrameCharacters: 10 });
  const push = (text: string) =>
    parser.push(new TextEncoder().encode(text), () => {});
  push("data: 1234");
  assert.throws(() => push("567890123"), FrameTooLongError);
  assert.throws(() => push("\n\n"), FrameTooLongError);
  assert.throws(() => parser.end(() => {}), FrameTooLongError);
});

Deno.test("the SSE parser holds nothing of a line that can be no field", () => {
  const parser = createSseParser({ maxFrameCharacters: 10 });
  const frames: SseFrame[] = [];
  const push = (text: string) =>
    parser.push(new TextEncoder().encode(text), (frame) => frames.push(frame));
  for (let count = 0; count < 100; count++) push("nonsense without end");
  push("\ndata: 1\n\n");
  assert.equal(frames[0]?.data, "1");
});

Deno.test("the SSE parser fails at a frame of too many lines, and takes any number between two frames", () => {
  const lines = "data: 1\n".repeat(1000);
  const endless = createSseParser({ maxFrameCharacters: 1 << 24 });
  const push = (
    parser: ReturnType<typeof createSseParser>,
    text: string,
  ) => {
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
