import assert from "node:assert/strict";
import {
  createFrameFormat,
  formatComment,
  formatFrame,
} from "../../src/streams/sse.ts";

Deno.test("formatFrame() writes the name before the data, where there is one", () => {
  assert.equal(formatFrame({ event: "a", data: "1" }), "event: a\ndata: 1\n\n");
  assert.equal(formatFrame({ data: "1" }), "data: 1\n\n");
  assert.equal(formatFrame({ event: "", data: "1" }), "data: 1\n\n");
});

Deno.test("createFrameFormat() writes the name of each frame after any other", () => {
  const frames = [undefined, "a", "a", "b", "", "b", undefined, undefined]
    .map((event) => ({ event, data: "1" }));
  assert.deepEqual(
    frames.map(createFrameFormat()),
    frames.map(formatFrame),
  );
});

Deno.test("createFrameFormat() leaves no line end of any reader in its data", () => {
  // The line ends of Python's str.splitlines(), by which some clients cut a stream.
  const ends = [..."\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"];
  const value = { a: ends.map((end, at) => `${at}${end}`).join("") };
  const text = formatFrame({ data: JSON.stringify(value) });
  assert.match(text, /\n\n$/);
  const line = text.slice(0, -2);
  assert.ok(!ends.some((end) => line.includes(end)));
  assert.deepEqual(JSON.parse(line.slice("data: ".length)), value);
});

Deno.test("formatComment() writes a line that readers skip", () => {
  assert.equal(formatComment({ comment: "hi" }), ": hi\n\n");
});
