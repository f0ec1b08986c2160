import assert from "node:assert/strict";
import { createInputEstimate } from "../../../src/relay/request/input_estimate.ts";

function estimate(text: string, pieceBytes = Infinity): number {
  const bytes = new TextEncoder().encode(text);
  const input = createInputEstimate();
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    input.push(bytes.subarray(start, start + pieceBytes));
  }
  return input.tokens();
}

const PROSE = "It was a bright cold day in April, and the clocks were. ";

const PICTURE = "iVBORw0KGgo+/AAAASUVORK5".repeat(12_500);

Deno.test("createInputEstimate() counts a token for four bytes of text, however long it is", () => {
  assert.equal(estimate("Hello, world"), 3);
  const text = PROSE.repeat(5000);
  assert.equal(estimate(text), Math.ceil(text.length / 4));
  assert.equal(estimate(text, 64 * 1024), Math.ceil(text.length / 4));
});

Deno.test("createInputEstimate() takes a picture in base64 for one, and not for text of that length", () => {
  const tokens = estimate(
    JSON.stringify({ text: PROSE, data: PICTURE }),
    64 * 1024,
  );
  assert.ok(tokens > 1000 && tokens < 4000, String(tokens));
});

Deno.test("createInputEstimate() takes text without spaces, code and other scripts for text", () => {
  for (
    const line of [
      "一个明亮而寒冷的四月天钟敲了十三下",
      '{"a":{"b":[1,2,3]},"path":"/usr/local/bin"},',
      "a_long_identifier(another_one);\\n",
    ]
  ) {
    const text = line.repeat(2000);
    const bytes = new TextEncoder().encode(text).length;
    assert.equal(estimate(text), Math.ceil(bytes / 4), line);
  }
});
