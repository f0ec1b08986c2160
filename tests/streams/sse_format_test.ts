import assert from "node:assert/strict";
import {
  createFrameFormat,
  formatComment,
  formatFrame,
} from "../../src/streams/sse_format.ts";

Deno.test("formatFrame() writes the name before the data, where there is one", () => {
  assert.equal(formatFrame({ event: "a", data: "1" }), "event: a\ndata: 1\n\n");
  assert.equal(formatFrame({ data: "1" }), "data: 1\n\n");
  assert.equal(formatFrame({ event: "", data: "1" }), "data: 1\n\n");
});

Deno.test("createFrameFormat() writes the name of each frame, whatever the one before had", () => {
  const frames = [undefined, "a", "a", "b", "", "b", undefined, undefined]
    .map((event) => ({ event, data: "1" }));
  assert.deepEqual(
    frames.map(createFrameFormat()),
    frames.map(formatFrame),
  );
});

Deno.test("formatComment() writes a line that readers skip", () => {
  assert.equal(formatComment({ comment: "hi" }), ": hi\n\n");
});
