import assert from "node:assert/strict";
import { formatComment, formatFrame } from "../../src/streams/sse_format.ts";

Deno.test("formatFrame() writes the name before the data, where there is one", () => {
  assert.equal(formatFrame({ event: "a", data: "1" }), "event: a\ndata: 1\n\n");
  assert.equal(formatFrame({ data: "1" }), "data: 1\n\n");
  assert.equal(formatFrame({ event: "", data: "1" }), "data: 1\n\n");
});

Deno.test("formatComment() writes a line that readers skip", () => {
  assert.equal(formatComment({ comment: "hi" }), ": hi\n\n");
});
