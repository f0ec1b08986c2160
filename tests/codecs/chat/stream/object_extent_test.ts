import assert from "node:assert/strict";
import { ObjectExtent } from "../../../../src/codecs/chat/stream/call_draft.ts";

const DOCUMENTS = [
  "{}",
  ' {"a":1}',
  '{"a":"}","b":"{"}',
  '{"a":"\\"}\\\\"}',
  '{"a":[{"b":{}},[]]}',
  '{"\\\\":"\\u007d"}',
];

Deno.test("ObjectExtent finds the end of an object, however it is split", () => {
  for (const document of DOCUMENTS) {
    const text = `${document} {"tail":1}`;
    for (let size = 1; size <= text.length; size++) {
      const extent = new ObjectExtent();
      let taken = 0;
      for (let from = 0; from < text.length; from += size) {
        taken += extent.push(text.slice(from, from + size));
      }
      assert.equal(text.slice(0, taken), document, `in pieces of ${size}`);
      assert.equal(extent.isClosed, true);
    }
  }
});

Deno.test("ObjectExtent finds no end of an incomplete object, or of other text", () => {
  const open = new ObjectExtent();
  assert.equal(open.push('{"a":"}'), 7);
  assert.equal(open.isClosed, false);
  const other = new ObjectExtent();
  assert.equal(other.push(" "), 1);
  assert.equal(other.isOther, false);
  assert.equal(other.push("null {}"), 7);
  assert.equal(other.isOther, true);
});
